import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'

const entry = new URL('../dist/cli.js', import.meta.url)

if (existsSync(entry)) {
  // Before the import: only modules that load afterwards are cached.
  enableCompileCache()
  const { start } = await import(entry.href)
  await start(new URL('../', import.meta.url))
} else {
  process.stderr.write('gwctl is not built yet: run `npm run build` in its directory.\n')
  process.exitCode = 2
}

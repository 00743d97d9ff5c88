// Import statements of Node's own modules touch all of their exports, which takes longer than what is done here.
const { existsSync } = process.getBuiltinModule('node:fs')
const { enableCompileCache } = process.getBuiltinModule('node:module')

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

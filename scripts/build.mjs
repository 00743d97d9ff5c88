// Bundles the CLI into dist/: one chunk per command, so that a command loads what it needs and nothing else.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { leanOclif, quickBuiltins } from './bundle-diet.mjs'

export const root = fileURLToPath(new URL('../', import.meta.url))

/** The whole build, as esbuild takes it; the architecture test asks for its metafile without writing anything. */
export function buildOptions() {
  const commands = readdirSync(`${root}commands`).map(file => file.replace(/\.tsx?$/, ''))
  return {
    absWorkingDir: root,
    entryPoints: {
      cli: 'src/cli/main.ts',
      // The module of a worker thread: it is named at run time, from the chunk that starts it.
      'serve-worker': 'src/tools/serve/worker.ts',
      ...(existsSync(`${root}src/index.ts`) ? { index: 'src/index.ts' } : {}),
      ...Object.fromEntries(commands.map(id => [`commands/${id}`, `commands/${id}.ts`])),
    },
    outdir: 'dist',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22.19',
    jsx: 'automatic',
    chunkNames: 'chunks/[name]-[hash]',
    // Minified code starts no faster, and plain code needs no source maps to make a stack readable.
    minify: false,
    metafile: true,
    logLevel: 'warning',
    define: { 'process.env.NODE_ENV': '"production"', GWCTL_COMMIT: JSON.stringify(commit()) },
    // Ink asks for the development tools of React with a top-level import, which fails in a bundle.
    alias: { 'react-devtools-core': `${root}scripts/react-devtools-stub.mjs` },
    plugins: [leanOclif, quickBuiltins],
    // CommonJS packages in the bundle load Node's own modules with it.
    banner: {
      js: "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);",
    },
  }
}

function commit() {
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd: root,
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim()
  } catch {
    // An unpacked tarball has no history.
    return 'unknown'
  }
}

/** Only after the build: a gwctl that is running meanwhile still finds its chunks until the new ones are there. */
function removeStale(outputs) {
  const fresh = new Set(outputs.map(path => join(root, path)))
  for (const entry of readdirSync(`${root}dist`, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !fresh.has(path)) rmSync(path)
  }
}

async function main() {
  const esbuild = await import('esbuild').catch(() => undefined)
  if (esbuild === undefined) {
    process.stderr.write(
      'gwctl is not built: its build tools are not installed. Run `npm ci` in its directory first.\n',
    )
    // A failing installation would leave npx with a half-made one that it never repairs; the sources run as well.
    process.exitCode = process.env.npm_lifecycle_event === 'postprepare' ? 0 : 1
    return
  }
  const { metafile } = await esbuild.build(buildOptions())
  removeStale(Object.keys(metafile.outputs))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()

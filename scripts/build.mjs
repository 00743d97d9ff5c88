// Bundles the CLI into dist/: one chunk per command, so that a command loads what it needs and nothing else.
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { leanOclif, quickBuiltins } from './bundle-diet.mjs'
import { directYaml } from './direct-yaml.mjs'

export const root = fileURLToPath(new URL('../', import.meta.url))

/** The whole build, as esbuild takes it; the architecture test asks for its metafile without writing anything. */
export function buildOptions() {
  const commands = readdirSync(`${root}commands`).map(file => file.replace(/\.tsx?$/, ''))
  return {
    absWorkingDir: root,
    entryPoints: {
      cli: 'src/cli/main.ts',
      // The modules of threads: they are named at run time, from the chunks that start them.
      'serve-worker': 'src/tools/serve/worker.ts',
      'password-thread': 'src/engine/passwords/password-thread.ts',
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
    plugins: [leanOclif, quickBuiltins, directYaml],
    // CommonJS packages in the bundle load Node's own modules with it.
    banner: {
      js: "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);",
    },
  }
}

/** What is loaded late here, only requests need. */
const SERVES = /[\\/]src[\\/](?:auth|backends|llm|policies)[\\/]/

/**
 * The CLI with `validate` in it, and no other command, as one classic script, a function expression: bin/kept-script.js
 * keeps what V8 has compiled of it, which Node offers for scripts only.
 */
function scriptOptions() {
  const options = buildOptions()
  const oneCommand = {
    name: 'one-command',
    setup(build) {
      build.onResolve({ filter: /[\\/]commands[\\/][\w-]+\.tsx?$/ }, ({ path }) =>
        basename(path) === 'validate.ts' ? undefined : { path, external: true },
      )
      // It would be read at each start, and only requests load it.
      build.onResolve({ filter: /^/ }, ({ path, importer, kind }) =>
        kind === 'dynamic-import' && SERVES.test(importer) ? { path, external: true } : undefined,
      )
    },
  }
  return {
    ...options,
    entryPoints: { validate: 'src/cli/main.ts' },
    outExtension: { '.js': '.cjs' },
    splitting: false,
    format: 'cjs',
    // Node's own modules are all that is left to load, and `require` has them.
    supported: { 'dynamic-import': false },
    // The modules in dist/ have them.
    legalComments: 'none',
    define: { ...options.define, 'import.meta.url': 'scriptUrl' },
    plugins: [oneCommand, ...options.plugins],
    banner: { js: '(function (exports, module, require, scriptUrl) {' },
    footer: { js: '})' },
    write: false,
  }
}

/** Read as bytes at each start. esbuild escapes what is in strings; an escape means the same in a regular expression. */
function ascii(text) {
  return text.replace(/[\u0080-\uffff]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
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

/** Writes dist/ and returns the files that it was made from, relative to the root. */
export async function build(esbuild) {
  const modules = await esbuild.build(buildOptions())
  const script = await esbuild.build(scriptOptions())
  for (const { path, text } of script.outputFiles) writeFileSync(path, `// ${hash('sha256', text)}\n${ascii(text)}`)
  removeStale([modules, script].flatMap(({ metafile }) => Object.keys(metafile.outputs)))
  return [...new Set([modules, script].flatMap(({ metafile }) => Object.keys(metafile.inputs)))]
}

async function main() {
  const esbuild = await import('esbuild').catch(() => undefined)
  if (esbuild !== undefined) return build(esbuild)
  process.stderr.write('gwctl is not built: its build tools are not installed. Run `npm ci` in its directory first.\n')
  // A failing installation would leave npx with a half-made one that it never repairs; the sources run as well.
  process.exitCode = process.env.npm_lifecycle_event === 'postprepare' ? 0 : 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()

// What the bundle leaves out or puts off, because every start would pay for it. Each rule fails the build when it no
// longer applies, so that an update of a package cannot bring the cost back unseen.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** Parts of oclif that only its own `run`, error handler and spinner use: importer → what it must not load. */
const LEFT_OUT = {
  'lib/command.js': ['./config', './help/util', './ux'],
  'lib/errors/errors/cli.js': ['clean-stack', 'indent-string', 'wrap-ansi', '../../ux/theme'],
  'lib/errors/errors/pretty-print.js': ['indent-string', 'wrap-ansi'],
  'lib/errors/index.js': ['./handle'],
  'lib/flags.js': ['./help'],
  'lib/help/index.js': ['../config/ts-path', '../module-loader', '../ux', './root'],
  'lib/logger.js': ['debug'],
  'lib/parser/index.js': ['./help'],
  'lib/parser/parse.js': ['node:readline'],
  'lib/util/fs.js': ['node:fs/promises'],
}

/** Parts that only mistakes need: they load when something is asked of them. */
const PUT_OFF = {
  'lib/parser/errors.js': ['../ux/list', '../ux/theme'],
}

/** esbuild plugin: a left out module is an object that throws when something is asked of it. */
export const leanOclif = {
  name: 'lean-oclif',
  setup(build) {
    const applied = new Set()
    build.onResolve({ filter: /^/ }, ({ importer, path, resolveDir, namespace }) => {
      if (namespace === 'put-off') return { path }
      const [, file] = /node_modules\/@oclif\/core\/(.*)$/.exec(importer.replaceAll('\\', '/')) ?? []
      if (file === undefined || ![LEFT_OUT, PUT_OFF].some(table => table[file]?.includes(path))) return undefined
      applied.add(`${file} ${path}`)
      if (LEFT_OUT[file]?.includes(path)) return { path: `${file} ${path}`, namespace: 'left-out' }
      return { path: `${resolve(resolveDir, path)}.js`, namespace: 'put-off' }
    })
    build.onLoad({ filter: /.*/, namespace: 'left-out' }, ({ path }) => ({ contents: throwing(path), loader: 'js' }))
    build.onLoad({ filter: /.*/, namespace: 'put-off' }, ({ path }) => ({ contents: loadingLate(path), loader: 'js' }))
    build.onEnd(() => ({ errors: missing('leanOclif', { ...LEFT_OUT, ...PUT_OFF }, applied) }))
  },
}

/** `__esModule` and symbols are asked for by the glue between module systems. */
function throwing(name) {
  if (name.endsWith(' debug')) return 'module.exports = () => Object.assign(() => {}, { enabled: false })'
  return `module.exports = new Proxy({}, { get(_, part) {
    if (part === '__esModule') return true
    if (typeof part === 'symbol') return undefined
    throw new Error(${JSON.stringify(`left out of the bundle (scripts/bundle-diet.mjs): ${name} `)} + part)
  } })`
}

function loadingLate(path) {
  const load = `require(${JSON.stringify(path)})`
  return `module.exports = new Proxy({}, { get: (_, part) => part === '__esModule' || ${load}[part] })`
}

/** Modules of Node that take milliseconds to load and that most commands never call. */
const SLOW = new Set(['node:child_process', 'node:crypto', 'node:fs/promises', 'node:zlib'])
const IMPORT = /^import \{([^}]*)\} from '(node:[\w/]+)'$/gm

/**
 * esbuild plugin: what our modules import from Node comes from `process.getBuiltinModule`. An import statement would
 * touch every export of the module first, and for node:fs that alone loads all of its streams. Slow modules load on the
 * first call of an imported function or constructor.
 */
export const quickBuiltins = {
  name: 'quick-builtins',
  setup(build) {
    build.onLoad({ filter: /[\\/](?:src|commands)[\\/].*\.tsx?$/ }, ({ path }) => {
      if (path.includes('node_modules')) return undefined
      const text = readFileSync(path, 'utf8')
      const contents = text.replace(IMPORT, (_, names, module) => binding(parseNames(names), names, module))
      if (contents === text) return undefined
      return { contents, loader: path.endsWith('x') ? 'tsx' : 'ts', errors: identityUses(text, path) }
    })
  },
}

function parseNames(names) {
  return names
    .split(',')
    .map(name => name.trim().split(/\s+as\s+/))
    .filter(([name]) => name !== '' && !name.startsWith('type '))
    .map(([name, local = name]) => ({ name, local }))
}

/** Types are erased; as many lines as before, so that places in stacks stay true. */
function binding(values, names, module) {
  const load = `process.getBuiltinModule('${module}')`
  const parts = SLOW.has(module)
    ? values.map(({ name, local }) => `function ${local}(...args) { return ${called(name, load)} }`)
    : values.map(({ name, local }) => `const ${local} = ${load}.${name}`)
  return parts.join('; ') + '\n'.repeat(names.split('\n').length - 1)
}

function called(name, load) {
  return /^[A-Z]/.test(name) ? `new (${load}.${name})(...args)` : `${load}.${name}(...args)`
}

/**
 * A constructor that stands in for another is neither a base class nor the right side of `instanceof`, and of functions
 * that start programs `promisify` asks for a property.
 */
function identityUses(text, path) {
  return [...text.matchAll(IMPORT)]
    .filter(([, , module]) => SLOW.has(module))
    .flatMap(([, names]) => parseNames(names))
    .filter(({ local }) => new RegExp(`\\b(?:(?:instanceof|extends) ${local}|promisify\\(exec(?:File)?)\\b`).test(text))
    .map(({ local }) => ({
      text: `${path}: ${local} is loaded late, so it cannot be compared, extended or promisified`,
    }))
}

function missing(plugin, wanted, applied) {
  return Object.entries(wanted).flatMap(([importer, modules]) =>
    modules
      .filter(module => !applied.has(`${importer} ${module}`))
      .map(module => ({ text: `${plugin}: ${importer} no longer loads ${module}; adapt scripts/bundle-diet.mjs` })),
  )
}

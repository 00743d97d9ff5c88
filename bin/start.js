// Import statements of Node's own modules touch all of their exports, which takes longer than what is done here.
const { existsSync } = process.getBuiltinModule('node:fs')
const { enableCompileCache } = process.getBuiltinModule('node:module')

/**
 * By default V8 lets short-lived objects take 32 MB twice, which a gateway fills without getting faster. And it may
 * decide to make some objects of each request long-lived from the start: these keep everything that they refer to until
 * the next full collection, so that an LLM route took a third more processor time and paused for 30 ms.
 */
const MEMORY = ['--max-semi-space-size=16', '--no-allocation-site-pretenuring']

if (process.argv[2] === 'run') startAgainForRequests()

const built = new URL('../dist/cli.js', import.meta.url)
const validate = new URL('../dist/validate.cjs', import.meta.url)

// Before the import: only modules that load afterwards are cached.
enableCompileCache()
if (existsSync(built)) {
  const { start } = isValidate(process.argv.slice(2)) ? await loadValidate() : await import(built.href)
  await start(new URL('../', import.meta.url))
} else {
  // npm installs a git repository as it is, without a build.
  await import('./dev.js')
}

/** V8 accepts these only at the start. The process keeps its id; a limit that the caller set is respected. */
function startAgainForRequests() {
  const { argv, execArgv, execPath, env, platform } = process
  const decided = [...execArgv, env.NODE_OPTIONS ?? ''].some(option => /semi[-_]space/.test(option))
  // A channel to the parent would be lost.
  if (decided || platform === 'win32' || process.channel || !process.execve || !existsSync(execPath)) return
  try {
    process.execve(execPath, [argv[0], ...MEMORY, ...execArgv, ...argv.slice(1)], env)
  } catch {
    // Not permitted here; the gateway runs all the same.
  }
}

/** An older build has no script for it: its modules do the same. */
function isValidate([command, ...rest]) {
  return command === 'validate' && !rest.includes('--help') && !rest.includes('-h') && existsSync(validate)
}

async function loadValidate() {
  const { loadScript } = await import('./kept-script.js')
  return loadScript(validate)
}

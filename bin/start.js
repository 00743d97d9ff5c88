// Import statements of Node's own modules touch all of their exports, which takes longer than what is done here.
const { existsSync } = process.getBuiltinModule('node:fs')
const { enableCompileCache } = process.getBuiltinModule('node:module')

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

/** An older build has no script for it: its modules do the same. */
function isValidate([command, ...rest]) {
  return command === 'validate' && !rest.includes('--help') && !rest.includes('-h') && existsSync(validate)
}

async function loadValidate() {
  const { loadScript } = await import('./kept-script.js')
  return loadScript(validate)
}

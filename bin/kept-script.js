const { readFileSync, renameSync, writeFileSync } = process.getBuiltinModule('node:fs')
const { getCompileCacheDir } = process.getBuiltinModule('node:module')

/**
 * Runs a classic script, with what V8 had compiled of it at the end of earlier runs. The cache of Node holds modules as
 * they are before they run, when most functions are not compiled: half of what `validate` takes is compiling those.
 */
export function loadScript(url) {
  const { Script } = process.getBuiltinModule('node:vm')
  // All of it is ASCII: see scripts/build.mjs.
  const text = readFileSync(url, 'latin1')
  const kept = readKept(text)
  const script = new Script(text, { filename: url.href, cachedData: kept.code })
  if (script.cachedDataRejected) kept.runs = 0
  if (kept.file !== undefined && kept.runs < 3) process.on('exit', () => writeKept(kept, script.createCachedData()))
  const module = { exports: {} }
  script.runInThisContext()(module.exports, module, process.getBuiltinModule, url.href)
  return module.exports
}

/**
 * The first runs add what they have used, then it stays: `runs` tells how many there were. The file holds the code
 * twice, and that number in its last byte.
 */
function readKept(text) {
  // For this version of Node, its flags and this user; undefined where the cache is switched off.
  const directory = getCompileCacheDir()
  if (directory === undefined) return { runs: 0 }
  // The first line is a hash of the rest: V8 looks at the length of the text only.
  const file = `${directory}/gwctl-${text.slice(3, text.indexOf('\n'))}`
  try {
    const bytes = readFileSync(file)
    const half = (bytes.length - 1) / 2
    const code = bytes.subarray(0, half)
    // V8 trusts what it is given: damaged code ends the process. For checksums Node has to load half of its modules.
    if (code.equals(bytes.subarray(half, -1))) return { file, code, runs: bytes.at(-1) }
  } catch {
    // There is none yet.
  }
  return { file, runs: 0 }
}

function writeKept({ file, runs }, code) {
  // Others may be reading it.
  const own = `${file}-${process.pid}`
  try {
    writeFileSync(own, Buffer.concat([code, code, Buffer.of(runs + 1)]), { mode: 0o600 })
    renameSync(own, file)
  } catch {
    // The next run compiles again.
  }
}

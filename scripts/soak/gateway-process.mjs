// The built `gwctl run` as a process of its own, as a soak test sees it: memory, open sockets, what it has said.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const collector = new URL('./collect-often.mjs', import.meta.url).href
const bin = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const SETTINGS = `config: {adminAddr: '127.0.0.1:0', statsAddr: 'off', readinessAddr: 'off', logging: {level: 'info,request=off'}}\n`

/** `files`: name to content, beside `gateway.yaml`. */
export async function startGatewayProcess(config, { workers = 1, files = {} } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'gwctl-soak-'))
  const write = (name, text) => writeFileSync(join(folder, name), name === 'gateway.yaml' ? SETTINGS + text : text)
  for (const [name, text] of Object.entries(files)) write(name, text)
  write('gateway.yaml', config)
  const args = [
    '--expose-gc',
    '--import',
    collector,
    bin,
    'run',
    '-f',
    'gateway.yaml',
    ...(workers > 1 ? ['--workers', String(workers)] : []),
  ]
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  const listeners = new Set()
  child.stderr.setEncoding('utf8').on('data', text => {
    said += text
    for (const look of listeners) look()
  })
  const exit = once(child, 'close')
  /** Resolves once it has said this so many times. */
  const says = (words, times = 1) =>
    new Promise((resolve, reject) => {
      const look = () => {
        if (said.split(words).length <= times || !said.endsWith('\n')) return
        listeners.delete(look)
        resolve()
      }
      listeners.add(look)
      look()
      exit.then(() => reject(new Error(`it ended without saying "${words}":\n${said}`)))
    })
  await says('admin server on')
  const admin = /admin server on (\S+)\.\n/.exec(said)[1]
  return {
    pid: child.pid,
    write,
    says,
    said: () => said,
    memory: async () => (await fetch(`http://${admin}/memory`)).json(),
    sockets: () => socketsOf(child.pid),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await exit
      rmSync(folder, { recursive: true })
    },
  }
}

function socketsOf(pid) {
  let count = 0
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      if (readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:')) count++
    } catch {
      // Closed meanwhile.
    }
  }
  return count
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Takes samples of the heap and tells the floors: what is left after collections. */
export function watchHeap(gateway, interval = 250) {
  const used = []
  let running = true
  const done = (async () => {
    while (running) {
      used.push((await gateway.memory()).process.heapUsed)
      await new Promise(resolve => setTimeout(resolve, interval))
    }
  })()
  return {
    async stop() {
      running = false
      await done
      const floor = part => Math.min(...part)
      const third = Math.floor(used.length / 3)
      return { early: floor(used.slice(third, 2 * third)), late: floor(used.slice(-third)), samples: used.length }
    },
  }
}

export const mb = bytes => `${(bytes / 2 ** 20).toFixed(1)} MB`

// What attacks work with: the built product in processes of its own, backends that keep what reaches them, and bytes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { connect, createServer } from 'node:net'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const bin = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
/** ms of a tick in /proc. */
const TICK = 10
/** A machine with more work than processors answers late, and silence there is no answer. */
const PATIENCE = Math.max(1, loadavg()[0] / availableParallelism())
/** ms until a gateway has to be there. */
const START = 30_000 * PATIENCE

export class Breach extends Error {}

export function openArena() {
  const gateways = []
  const closing = []
  const folder = (files = {}) => {
    const path = mkdtempSync(join(tmpdir(), 'gwctl-attack-'))
    closing.push(() => rmSync(path, { recursive: true, force: true }))
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(path, name)), { recursive: true })
      writeFileSync(join(path, name), text)
    }
    return path
  }
  return {
    holds,
    freePort,
    raw,
    cli,
    folder,
    async start(config, options = {}) {
      const gateway = await startGateway(config, folder(options.files), options)
      gateways.push(gateway)
      closing.push(() => gateway.stop())
      return gateway
    },
    async backend(handler) {
      const backend = await startBackend(handler)
      closing.push(() => backend.close())
      return backend
    },
    survived() {
      for (const gateway of gateways) holds(gateway.alive(), `the gateway has died:\n${gateway.said().slice(-2000)}`)
    },
    async close() {
      for (const close of closing.reverse()) await close()
    },
  }
}

function holds(condition, found) {
  if (!condition) throw new Breach(found)
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

async function startGateway(config, folder, { workers = 1, env = {}, settings = '' }) {
  const [port, stats] = [await freePort(), await freePort()]
  const own = `adminAddr: '127.0.0.1:0', statsAddr: '127.0.0.1:${stats}', readinessAddr: 'off'`
  const write = make => {
    const text = `config: {${[own, settings].filter(part => part !== '').join(', ')}}\n${make(port)}\n`
    writeFileSync(join(folder, 'gateway.yaml'), text)
  }
  write(config)
  const child = spawn(process.execPath, [bin, 'run', '-f', 'gateway.yaml', '--workers', String(workers)], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      said += text
    })
  }
  const exit = once(child, 'close')
  const says = async (pattern, from = 0) => {
    const until = Date.now() + START
    for (;;) {
      const found = pattern.exec(said.slice(from))
      if (found) return found
      if (child.exitCode !== null || Date.now() > until) throw new Error(`it never said ${pattern}:\n${said}`)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  const stop = async () => {
    child.kill('SIGKILL')
    await exit
  }
  try {
    const admin = (await says(/admin server on (\S+)\.\n/))[1]
    return {
      pid: child.pid,
      port,
      admin: `http://${admin}`,
      stats: `http://127.0.0.1:${stats}`,
      said: () => said,
      alive: () => child.exitCode === null && child.signalCode === null,
      cpu() {
        const fields = readFileSync(`/proc/${child.pid}/stat`, 'latin1').split(') ')[1].split(' ')
        return (Number(fields[11]) + Number(fields[12])) * TICK
      },
      memory: () => 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'latin1'))[1]),
      sockets: () => readdirSync(`/proc/${child.pid}/fd`).filter(fd => isSocket(`/proc/${child.pid}/fd/${fd}`)).length,
      async reload(make) {
        const from = said.length
        write(make)
        await says(/configuration (?:not )?reloaded/, from)
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function isSocket(file) {
  try {
    return readlinkSync(file).startsWith('socket:')
  } catch {
    // Closed meanwhile.
    return false
  }
}

async function startBackend(handler = (_req, res) => res.end('ok')) {
  const requests = []
  const server = createHttpServer((req, res) => {
    const chunks = []
    req.on('data', chunk => chunks.push(chunk))
    req.on('end', () => {
      const { method, url, rawHeaders: headers } = req
      req.body = Buffer.concat(chunks).toString()
      requests.push({ method, url, headers, body: req.body })
      handler(req, res)
    })
    req.on('error', () => {})
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  return {
    port,
    host: `127.0.0.1:${port}`,
    requests,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function raw(port, bytes, { quiet = 1000 } = {}) {
  return new Promise((resolve, reject) => {
    const chunks = []
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
    )
    socket.setTimeout(quiet * PATIENCE, () => socket.destroy())
    socket.on('data', chunk => chunks.push(chunk))
    socket.on('error', error => {
      // A gateway may cut off who goes on sending; what it said before counts.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
  })
}

async function cli(args, { cwd = process.cwd(), env = {}, input = '', limit = 60_000 } = {}) {
  const child = spawn(process.execPath, [bin, ...args], { cwd, env: { ...process.env, NO_COLOR: '1', ...env } })
  const timer = setTimeout(() => child.kill('SIGKILL'), limit * PATIENCE)
  const out = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', text => {
      out[name] += text
    })
  }
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  clearTimeout(timer)
  return { code: code ?? undefined, ...out }
}

// A real API server on loopback, started and stopped by the scripts of a harness (KUBE_HARNESS), and the few calls made to it.
import { execFile, spawn } from 'node:child_process'
import { access, mkdtemp, readFile, rm } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { parse } from 'yaml'

const run = promisify(execFile)

/** `bin`: where the server's programs are, or are built to when they are not there. */
export async function startApiServer(harness, bin) {
  await script(join(harness, 'build.sh'), [resolve(bin)], {})
  const data = await mkdtemp(join(tmpdir(), 'gwctl-kube-'))
  const [etcd, , api] = await freePorts()
  const start = () =>
    script(join(harness, 'start.sh'), [resolve(bin), data], { ETCD_PORT: String(etcd), API_PORT: String(api) })
  const halt = async () => {
    const pids = await Promise.all(['apiserver', 'etcd'].map(name => pidIn(join(data, `${name}.pid`))))
    await script(join(harness, 'stop.sh'), [data], {})
    await Promise.all(pids.map(ended))
  }
  const stop = async () => {
    await halt()
    await rm(data, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
  }
  /** With what it holds, after so many ms. */
  const restart = async ms => {
    await halt()
    await sleep(ms)
    await start()
  }
  try {
    await start()
    const kubeconfig = await readFile(join(data, 'kubeconfig'), 'utf8')
    const { clusters, users } = parse(kubeconfig)
    const call = caller(new URL(clusters[0].cluster.server), users[0].user.token)
    return { call, stop, restart, kubeconfig, version: (await call('GET', '/version')).body.gitVersion }
  } catch (error) {
    await stop()
    throw error
  }
}

/** One call; `body` is YAML text, or a value that is sent as JSON. PATCH is a server-side apply. */
function caller(server, token) {
  const agent = new Agent({ keepAlive: true, maxSockets: 4, rejectUnauthorized: false })
  return (method, path, body) =>
    new Promise((done, fail) => {
      const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
      const headers = {
        authorization: `Bearer ${token}`,
        'content-type': contentType(method, body),
        'content-length': Buffer.byteLength(text),
      }
      const sent = request(new URL(path, server), { method, agent, headers }, response => {
        let answer = ''
        response.setEncoding('utf8')
        response.on('data', part => {
          answer += part
        })
        response.on('end', () => done({ status: response.statusCode, body: readBody(answer) }))
      })
      sent.on('error', fail)
      sent.end(text)
    })
}

function contentType(method, body) {
  if (method === 'PATCH') return 'application/apply-patch+yaml'
  return typeof body === 'string' ? 'application/yaml' : 'application/json'
}

function readBody(text) {
  try {
    return JSON.parse(text)
  } catch {
    return { message: text }
  }
}

function script(file, args, env) {
  return new Promise((done, fail) => {
    const child = spawn('sh', [file, ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, ...env },
    })
    child.on('error', fail)
    child.on('close', code => (code === 0 ? done() : fail(new Error(`${file} ended with ${code}`))))
  })
}

async function pidIn(file) {
  return Number(await readFile(file, 'utf8').catch(() => 0))
}

/** A server without its store takes long to end by itself. */
async function ended(pid) {
  for (let left = 50; pid > 0 && isAlive(pid); left--) {
    if (left === 0) process.kill(pid, 'SIGKILL')
    await sleep(100)
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Three neighbours that nobody listens on: etcd takes one beside its own. */
export async function freePorts() {
  for (;;) {
    const first = await portFree(0)
    if ((await portFree(first + 1)) && (await portFree(first + 2))) return [first, first + 1, first + 2]
  }
}

function portFree(port) {
  return new Promise(done => {
    const server = createServer()
    server.on('error', () => done(undefined))
    server.listen(port, '127.0.0.1', () => {
      const taken = server.address().port
      server.close(() => done(taken))
    })
  })
}

/**
 * The directory of a published Go module. One that asks for a newer Go than ours is unpacked all the same, which is
 * enough for the files in it that are not Go.
 */
export async function moduleDirectory(module, version) {
  await run('go', ['mod', 'download', `${module}@${version}`]).catch(() => undefined)
  const directory = join((await run('go', ['env', 'GOMODCACHE'])).stdout.trim(), `${module}@${version}`)
  await access(directory)
  return directory
}

// Where the parts of `npm run interop:auth` run: a folder, and processes that end with it.
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePorts } from '../api-server.mjs'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const run = promisify(execFile)

export async function openPlace() {
  const folder = await mkdtemp(join(tmpdir(), 'gwctl-auth-'))
  const stops = []
  /** Resolves once the process has ended. */
  const start = (command, args, options = {}) => {
    const child = spawn(command, args, { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'], ...options })
    const ended = new Promise(done => child.once('close', done))
    const stop = () => {
      child.kill('SIGKILL')
      return ended
    }
    stops.push(stop)
    return { child, stop }
  }
  return {
    folder,
    start,
    run: (command, args, options = {}) => run(command, args, { cwd: folder, ...options }),
    closes: stop => stops.push(stop),
    /** `127.0.0.1:PORT` of a backend. */
    async backend(answer) {
      const server = createServer(answer)
      await new Promise(done => server.listen(0, '127.0.0.1', done))
      stops.push(() => new Promise(done => server.close(done).closeAllConnections()))
      return `127.0.0.1:${server.address().port}`
    },
    /** `routes`: lines of YAML, or what makes them of the address that the gateway has. Resolves to that address. */
    async gateway(name, routes, env = {}) {
      const [port, admin] = await freePorts()
      const url = `http://127.0.0.1:${port}`
      const lines = typeof routes === 'string' ? routes : routes(url)
      const file = join(folder, `${name}.yaml`)
      await writeFile(
        file,
        `config: {adminAddr: '127.0.0.1:${admin}', statsAddr: 'off', readinessAddr: 'off'}
binds: [{port: ${port}, listeners: [{routes: [
${lines.replace(/^/gm, '  ')}]}]}]
`,
      )
      const args = [join(root, 'bin/run.js'), 'run', '-f', file]
      start(process.execPath, args, { stdio: 'ignore', env: { ...process.env, ...env } })
      await until(() => answers(`http://127.0.0.1:${admin}/healthz/ready`), 'the gateway')
      return url
    },
    async close() {
      for (const stop of stops.reverse()) await stop()
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

export function answers(url) {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  )
}

/** Asks again until `holds`. */
export async function until(holds, what) {
  for (let left = 300; ; left--) {
    if (await holds()) return
    if (left === 0) throw new Error(`${what} does not become ready`)
    await new Promise(done => setTimeout(done, 100))
  }
}

/** Whether a program is there to be started. */
export function isInstalled(command, args = ['--version']) {
  return run(command, args).then(
    () => true,
    () => false,
  )
}

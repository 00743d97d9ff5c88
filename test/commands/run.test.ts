import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ownPort } from '../helpers/own-port.ts'
import { echo, startUpstream } from '../helpers/upstream.ts'

const bin = join(import.meta.dirname, '../../bin/run.js')
let folder = ''
let running: GatewayProcess[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-run-'))
})
afterEach(() => {
  for (const process of running) process.child.kill('SIGKILL')
  running = []
  rmSync(folder, { recursive: true })
})

const QUIET = `config: {adminAddr: '127.0.0.1:0', statsAddr: 'off', readinessAddr: 'off'}`
const reply = (port: number, body: string) => `${QUIET}
binds: [{port: ${port}, listeners: [{routes: [{policies: {directResponse: {status: 200, body: ${body}}}}]}]}]
`

describe('an invalid configuration never opens a port', () => {
  test('a mistake exits with 1, showing the finding and its line', async () => {
    const port = await ownPort()
    const gateway = start(`${QUIET}\nbinds: [{port: ${port}, listners: []}]\n`)
    expect(await gateway.exit).toBe(1)
    expect(gateway.stderr).toMatch(/gateway.yaml:2:2[0-9]/)
    expect(gateway.stderr).toContain('did you mean `listeners`?')
    await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow()
  })

  test('a valid section that is not served exits with 1 and is named', async () => {
    const gateway = start(`${reply(await ownPort(), 'x')}ui: {}\n`)
    expect(await gateway.exit).toBe(1)
    expect(gateway.stderr).toContain('GW601')
  })

  test('an unset variable exits with 1 and is named', async () => {
    const gateway = start(reply(await ownPort(), '$GWCTL_TEST_UNSET'))
    expect(await gateway.exit).toBe(1)
    expect(gateway.stderr).toContain('GWCTL_TEST_UNSET')
  })

  test('a missing file exits with 3', async () => {
    const gateway = new GatewayProcess(['run', '-f', 'missing.yaml'], {})
    expect(await gateway.exit).toBe(3)
    expect(gateway.stderr).toContain('missing.yaml does not exist')
  })

  test('a port in use exits with 3 and a hint', async () => {
    await using other = await startUpstream(echo)
    const gateway = start(reply(other.port, 'x'))
    expect(await gateway.exit).toBe(3)
    expect(gateway.stderr).toContain('is in use')
  })
})

describe('a running gateway', () => {
  test('expands variables, and serves a changed file without a restart', async () => {
    const port = await ownPort()
    const gateway = start(reply(port, '$GREETING'), { GREETING: 'hello' })
    await gateway.serving
    expect(await get(port)).toBe('hello')
    write(reply(port, 'changed'))
    await gateway.says('configuration reloaded')
    expect(await get(port)).toBe('changed')
  })

  test('keeps the old configuration after a bad change, and gives the reason', async () => {
    const port = await ownPort()
    const gateway = start(reply(port, 'old'))
    await gateway.serving
    write(`${reply(port, 'new')}bogus: 1\n`)
    await gateway.says('unknown field `bogus`')
    expect(await get(port)).toBe('old')
    write(reply(port, 'newer'))
    await gateway.says('configuration reloaded')
    expect(await get(port)).toBe('newer')
  })

  test('SIGTERM drains requests in flight, accepts nothing new and exits with 0', async () => {
    let finish: () => void = () => {}
    let reached: () => void = () => {}
    const inFlight = new Promise<void>(resolve => {
      reached = resolve
    })
    await using upstream = await startUpstream((_req, res) => {
      res.write('first ')
      finish = () => res.end('last')
      reached()
    })
    const port = await ownPort()
    const gateway = start(
      `${QUIET}\nbinds: [{port: ${port}, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]\n`,
    )
    await gateway.serving
    const answer = get(port)
    await inFlight
    gateway.child.kill('SIGTERM')
    await gateway.says('Stopping')
    await expect(until(() => get(port))).rejects.toThrow()
    finish()
    expect(await answer).toBe('first last')
    expect(await gateway.exit).toBe(0)
  })

  test('the shutdown timeout comes from the environment', async () => {
    let reached: () => void = () => {}
    const inFlight = new Promise<void>(resolve => {
      reached = resolve
    })
    await using upstream = await startUpstream((_req, res) => {
      res.write('never')
      reached()
    })
    const port = await ownPort()
    const gateway = start(
      `${QUIET}\nbinds: [{port: ${port}, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]\n`,
      { TERMINATION_GRACE_PERIOD_SECONDS: '5' },
    )
    await gateway.serving
    const answer = get(port).catch((error: Error) => error)
    await inFlight
    gateway.child.kill('SIGTERM')
    expect(await gateway.exit).toBe(0)
    expect(await answer).toBeInstanceOf(Error)
    expect(gateway.stderr).toContain('requests were cut')
  })

  test.each([{ flags: [] }, { flags: ['--workers', '2'] }])(
    'is not ready while stopping, and a second signal ends it immediately: $flags',
    async ({ flags }) => {
      let reached: () => void = () => {}
      const inFlight = new Promise<void>(resolve => {
        reached = resolve
      })
      await using upstream = await startUpstream((_req, res) => {
        res.write('never')
        reached()
      })
      const [port, ready] = [await ownPort(), await ownPort()]
      const quiet = QUIET.replace("readinessAddr: 'off'", `readinessAddr: '127.0.0.1:${ready}'`)
      write(`${quiet}\nbinds: [{port: ${port}, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]\n`)
      const gateway = new GatewayProcess(['run', '-f', 'gateway.yaml', ...flags], {})
      await gateway.serving
      const readiness = async () => {
        const { status } = await fetch(`http://127.0.0.1:${ready}/healthz/ready`)
        return status
      }
      expect(await readiness()).toBe(200)
      const answer = get(port).catch((error: Error) => error)
      await inFlight
      gateway.child.kill('SIGINT')
      await gateway.says('Stopping: requests in flight are finished first. A second signal ends them at once.')
      expect(await readiness()).toBe(500)
      gateway.child.kill('SIGINT')
      expect(await gateway.exit).toBe(null)
      expect(gateway.child.signalCode).toBe('SIGINT')
      expect(await answer).toBeInstanceOf(Error)
    },
  )

  test('process logs follow RUST_LOG and the format in the file', async () => {
    const port = await ownPort()
    const text = reply(port, 'x').replace("statsAddr: 'off'", "statsAddr: 'off', logging: {format: json, level: error}")
    const gateway = start(text, { RUST_LOG: 'info' })
    await gateway.serving
    await get(port)
    await gateway.says('"http.status":200')
    const record = JSON.parse(gateway.stderr.split('\n').find(line => line.includes('"http.status"'))!)
    expect(record).toMatchObject({ level: 'info', 'http.method': 'GET', 'http.path': '/' })
    gateway.child.kill('SIGTERM')
    await gateway.exit
    const silent = start(text)
    await silent.serving
    await get(port)
    silent.child.kill('SIGTERM')
    await silent.exit
    expect(silent.stderr).not.toContain('"level":"info"')
  })

  test('metrics report that the served configuration matches the file', async () => {
    const [port, stats] = [await ownPort(), await ownPort()]
    const gateway = start(reply(port, 'x').replace("statsAddr: 'off'", `statsAddr: '127.0.0.1:${stats}'`))
    await gateway.serving
    const metrics = await fetch(`http://127.0.0.1:${stats}/metrics`)
    expect(await metrics.text()).toContain('\nagentgateway_config_synchronized 1\n')
  })

  test('listens on IPv4 only when IPv6 is disabled', async () => {
    const port = await ownPort()
    const gateway = start(reply(port, 'x').replace("statsAddr: 'off'", "statsAddr: 'off', enableIpv6: false"))
    await gateway.serving
    expect(await get(port)).toBe('x')
    await expect(fetch(`http://[::1]:${port}`)).rejects.toThrow()
  })

  test('can be stopped through the admin server', async () => {
    const port = await ownPort()
    const gateway = start(reply(port, 'x'))
    const admin = /admin server on (\S+)\.\n/.exec(await gateway.serving)![1]!
    const answer = await fetch(`http://${admin}/quitquitquit`, { method: 'POST' })
    expect([answer.status, await answer.text()]).toEqual([200, 'shutdown now\n'])
    expect(await gateway.exit).toBe(0)
  })
})

class GatewayProcess {
  readonly child: ChildProcess
  stderr = ''
  readonly exit: Promise<number | null>
  constructor(args: readonly string[], env: Readonly<Record<string, string>>) {
    this.child = spawn(process.execPath, [bin, ...args], {
      cwd: folder,
      env: { PATH: process.env['PATH'], NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child.stderr!.setEncoding('utf8').on('data', text => {
      this.stderr += text
    })
    this.exit = once(this.child, 'close').then(([code]) => code as number | null)
    running.push(this)
  }

  get serving(): Promise<string> {
    return this.says('admin server on')
  }

  /** Resolves with all of stderr once it has said `text`; rejects when the process ends without. */
  says(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!this.stderr.includes(text) || !this.stderr.endsWith('\n')) return
        this.child.stderr!.off('data', look)
        resolve(this.stderr)
      }
      this.child.stderr!.on('data', look)
      look()
      void this.exit.then(code => reject(new Error(`exit ${code} without saying "${text}":\n${this.stderr}`)))
    })
  }
}

function start(text: string, env: Readonly<Record<string, string>> = {}): GatewayProcess {
  write(text)
  return new GatewayProcess(['run', '-f', 'gateway.yaml'], env)
}

function write(text: string): void {
  writeFileSync(join(folder, 'gateway.yaml'), text)
}

function get(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const req = httpRequest({ port, host: '127.0.0.1', agent: false }, res => {
      let text = ''
      res.on('data', chunk => {
        text += chunk
      })
      res.on('end', () => resolve(text)).on('error', reject)
    })
    req.on('error', reject).end()
  })
}

/** Repeats until it fails. */
async function until(attempt: () => Promise<unknown>): Promise<never> {
  for (;;) await attempt()
}

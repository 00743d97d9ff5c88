import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Io } from '../../src/cli/io.ts'
import { main } from '../../src/cli/main.ts'
import { Failure } from '../../src/diagnostics/failure.ts'
import type { Listening } from '../../src/engine/admin/listen.ts'
import { startAdmin } from '../../src/engine/admin/server.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { FakeGateway } from '../engine/admin/running-admin.ts'
import { FakeKeyboard, FakeScreen, isRestored } from '../helpers/fake-terminal.ts'
import { startGateway, type TestGateway } from '../helpers/gateway.ts'
import { ownPort } from '../helpers/own-port.ts'
import { startUpstream } from '../helpers/upstream.ts'

const root = new URL('../../', import.meta.url)
const config = `
gateways: {default: {port: 8080}}
routes:
- name: hello
  matches: [{path: {pathPrefix: /hello}}]
  policies: {directResponse: {status: 200, body: hi}, localRateLimit: [{maxTokens: 9, tokensPerFill: 1, fillInterval: 1h}]}
`

let gateway: TestGateway
let admin: Listening

const open = (address: string) =>
  startAdmin(address, Object.assign(new FakeGateway(), { metrics: () => gateway.gateway.metrics.families() }))

beforeEach(async () => {
  gateway = await startGateway(config)
  admin = await open(`127.0.0.1:${await ownPort()}`)
})
afterEach(async () => {
  await admin.close()
  await gateway[Symbol.asyncDispose]()
})

const ask = async () => (await fetch(`${gateway.url(8080)}/hello`)).text()

function start(argv: readonly string[]) {
  const io = memoryIo({ env: { GWCTL_ADMIN: admin.address } })
  return { io, code: main(['top', '--interval', '100ms', ...argv], io, root) }
}

describe('without a terminal', () => {
  test('prints one snapshot and exits', async () => {
    await ask()
    const { io, code } = start([])
    expect(await code).toBe(0)
    expect(io.stdout.text).toMatch(/^[\d.<-]+ requests\/s, 0 failed\/s, 0 in flight\n\nROUTE /)
    expect(io.stdout.text).toContain('default/hello')
    expect(io.stdout.text).toMatch(/^hello +requests +8 +9 /m)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: no sequence for terminals goes to a pipe
    expect(io.stdout.text).not.toMatch(/\u001b/)
  })

  test('-o json prints data for programs', async () => {
    await ask()
    const { io, code } = start(['-o', 'json'])
    expect(await code).toBe(0)
    expect(JSON.parse(io.stdout.text)).toMatchObject({
      total: { inFlight: 0, workers: 1, memory: expect.any(Number), started: expect.any(Number) },
      routes: [{ name: 'default/hello' }],
      budgets: [{ remaining: 8, capacity: 9, counts: 'requests', at: 'test.yaml:6' }],
    })
  })

  test('--json prints line after line until the reader closes, which is not a failure', async () => {
    const { io, code } = start(['--json'])
    await expect.poll(() => io.stdout.text.split('\n').length).toBeGreaterThan(3)
    for (const line of io.stdout.text.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('total.requests')
    io.stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
    expect(await code).toBe(0)
  })

  test('--json exits with 4 when the gateway stops', async () => {
    const { io, code } = start(['--json'])
    await expect.poll(() => io.stdout.text).toContain('\n')
    await admin.close()
    expect(await code).toBe(4)
    expect(io.stderr.text).toContain(`no gateway answers at http://${admin.address}`)
  })

  test.each([[[]], [['--once']], [['-o', 'json']]])('an unreachable gateway exits with 4 (%s)', async argv => {
    await admin.close()
    const { io, code } = start(argv)
    expect(await code).toBe(4)
    expect(io.stdout.text).toBe('')
    expect(io.stderr.text).toContain('Is `gwctl run` running')
  })

  test('a different server exits with 4', async () => {
    await using upstream = await startUpstream((_req, res) => res.end('hello 1\n'))
    const { io, code } = start(['--admin', upstream.host])
    expect(await code).toBe(4)
    expect(io.stderr.text).toContain('answered with something else than metrics for /metrics.')
  })

  test('works from a shell', async () => {
    const bin = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
    const child = spawn(process.execPath, [bin, 'top', '--interval', '100ms', '--admin', admin.address], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('BUDGET')
  })
})

describe('on a terminal', () => {
  function view(env: Record<string, string> = {}) {
    const base = memoryIo({ env: { GWCTL_ADMIN: admin.address, ...env } })
    const screen = new FakeScreen()
    const keyboard = new FakeKeyboard()
    const io: Io = { ...base, stdin: keyboard, stdout: screen }
    const code = main(['top', '--interval', '100ms'], io, root)
    return { screen, keyboard, stop: base.stop, stderr: base.stderr, code }
  }

  test('rates appear and change as requests come in, and q quits', async () => {
    const { screen, keyboard, code } = view()
    await screen.until(() => screen.shown.includes('no requests yet') || screen.shown.includes('BUDGET'))
    await ask()
    await screen.until(
      () => /default\/hello +[\d.]+ /.test(screen.shown) && /hello +requests +8 +9 /.test(screen.shown),
    )
    keyboard.write('q')
    expect(await code).toBe(0)
    expect(isRestored(screen, keyboard)).toBe(true)
  })

  test('a stopped gateway is shown as gone, and returns with counters from zero', async () => {
    const { screen, keyboard, code } = view()
    await ask()
    await screen.until(() => screen.shown.includes('default/hello'))
    const { address } = admin
    await admin.close()
    await screen.until(() => /^no gateway answers at .*\n/.test(screen.shown) && screen.shown.includes('gone for '))
    expect(screen.shown).toContain('default/hello')
    await gateway[Symbol.asyncDispose]()
    gateway = await startGateway(config)
    admin = await open(address)
    await screen.until(() => screen.shown.startsWith(address) && !screen.shown.includes('default/hello'))
    expect(screen.shown).toMatch(/hello +requests +9 +9 /)
    expect(screen.shown).not.toMatch(/-\d/)
    keyboard.write('q')
    expect(await code).toBe(0)
  })

  test.each<[string, (opened: ReturnType<typeof view>) => unknown, number]>([
    ['Ctrl-C', ({ keyboard }) => keyboard.write('\u0003'), 130],
    ['SIGTERM', ({ stop }) => stop.abort(new Failure('terminated', 'stopped by SIGTERM')), 143],
  ])('%s restores the terminal, even while the gateway is away', async (name, leave, expected) => {
    const opened = view()
    await opened.screen.until(shown => shown.includes('in flight'))
    await admin.close()
    await opened.screen.until(shown => shown.includes('gone for'))
    leave(opened)
    expect(await opened.code).toBe(expected)
    expect(isRestored(opened.screen, opened.keyboard)).toBe(true)
    expect(opened.stderr.text).toContain(`stopped by ${name}`)
  })

  test('an unreachable gateway at startup exits with 4 and leaves the terminal alone', async () => {
    await admin.close()
    const { screen, code } = view()
    expect(await code).toBe(4)
    expect(screen.text).toBe('')
  })

  test('an interval that is too short is a usage error, even without a gateway', async () => {
    const io = memoryIo({ env: { GWCTL_ADMIN: '127.0.0.1:1' } })
    expect(await main(['top', '--interval', '1ms'], io, root)).toBe(2)
    expect(io.stderr.text).toContain('--interval is too short: at least 100ms')
  })

  test('a dumb terminal gets one snapshot', async () => {
    const { screen, code } = view({ TERM: 'dumb' })
    expect(await code).toBe(0)
    expect(screen.text).toContain('requests/s')
  })
})

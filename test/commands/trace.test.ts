import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createPatternCompiler } from '../../src/cel/pattern.ts'
import type { Io } from '../../src/cli/io.ts'
import { main } from '../../src/cli/main.ts'
import { Failure } from '../../src/diagnostics/failure.ts'
import type { Listening } from '../../src/engine/admin/listen.ts'
import { startAdmin } from '../../src/engine/admin/server.ts'
import { decode } from '../../src/schema/decode.ts'
import { testFile } from '../../src/tools/test-file/test-file.ts'
import { type MemoryOutput, memoryIo } from '../cli/memory-io.ts'
import { FakeGateway } from '../engine/admin/running-admin.ts'
import { FakeKeyboard, FakeScreen, isRestored } from '../helpers/fake-terminal.ts'
import { startGateway } from '../helpers/gateway.ts'
import { ownPort } from '../helpers/own-port.ts'
import { Recorder } from '../tools/events/recorded-events.ts'
import { HAR } from '../tools/trace/har-schema.ts'

const isHar = new Ajv2020({ allErrors: true }).compile(HAR)
const root = new URL('../../', import.meta.url)

let folder: string
let gateway: FakeGateway
let admin: Listening

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-trace-'))
  gateway = new FakeGateway()
  admin = await startAdmin(`127.0.0.1:${await ownPort()}`, gateway)
})

afterEach(async () => {
  await admin.close()
  rmSync(folder, { recursive: true })
})

interface Run {
  readonly code: Promise<number>
  readonly stdout: MemoryOutput
  readonly stderr: MemoryOutput
}

function gwctl(argv: string[], options: Parameters<typeof memoryIo>[0] = {}): Run {
  const io = memoryIo({ cwd: folder, env: { GWCTL_ADMIN: admin.address }, ...options })
  return { code: main(['trace', ...argv], io, root), stdout: io.stdout, stderr: io.stderr }
}

/** Sends requests until one is watched, then ends it. */
async function serve(path = '/v1/chat', status = 200): Promise<void> {
  for (;;) {
    const x = gateway.arrive(path)
    if (x.trace === undefined) {
      await new Promise(setImmediate)
      continue
    }
    x.trace.emit(
      { type: 'listener', bind: 'bind/3000', listener: 'http' },
      { origins: [{ file: 'c.yaml', line: 3, col: 1 }] },
    )
    gateway.finish(x, status)
    return
  }
}

const jsonLines = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { seq: number; message: { type: string } })

test.each(['text', 'raw', 'har', 'test'])('-o %s: client data cannot control the terminal', async format => {
  const hostile = 'a\u001b[2J\u0007\u009b31m\u0085\u202e\u2066'
  const recorder = new Recorder()
  recorder.start('r1', `/${hostile}`)
  const state = { method: 'GET', url: `http://a/${hostile}`, headers: [['x-a', hostile]] as const }
  recorder.add({ type: 'snapshot', stage: 'initial request', state })
  const sent = Buffer.from(hostile)
  recorder.add({
    type: 'body',
    stage: 'initial request',
    bytes: sent.length,
    base64: sent.toString('base64'),
    truncated: false,
  })
  recorder.finish('r1', 400)
  writeFileSync(join(folder, 'trace.jsonl'), recorder.texts.join('\n'))
  const run = gwctl(['-f', 'trace.jsonl', '-o', format])
  expect(await run.code).toBe(0)
  expect(run.stdout.text.length).toBeGreaterThan(100)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that none gets through is the point
  expect(run.stdout.text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
})

describe('--raw', () => {
  test('prints one request with one event per line, then exits', async () => {
    const run = gwctl(['--raw'])
    await serve()
    expect(await run.code).toBe(0)
    expect(jsonLines(run.stdout.text).map(({ message }) => message.type)).toEqual([
      'requestStarted',
      'listener',
      'requestFinished',
    ])
    // Said once it is watching, so that no request is missed that is sent then.
    expect(run.stderr.text).toMatch(/^Recording the next request at 127\.0\.0\.1:\d+\. Ctrl-C stops\.\n$/)
    // The stream's end did not arm a second trace.
    expect(gateway.arrive().trace).toBeUndefined()
  })

  test('a filter selects the request, under either name of the flag', async () => {
    for (const flag of ['--where', '--expression']) {
      const run = gwctl(['--raw', flag, 'request.path == "/b"'])
      const served = serve('/b')
      expect(gateway.arrive('/a').trace).toBeUndefined()
      await served
      expect(await run.code).toBe(0)
      expect(run.stdout.text).toContain('/b')
    }
  })

  test('--limit records that many requests', async () => {
    const run = gwctl(['--raw', '--limit', '3'])
    for (let i = 0; i < 3; i++) await serve(`/${i}`)
    expect(await run.code).toBe(0)
    expect(jsonLines(run.stdout.text)).toHaveLength(9)
  })

  test('--for ends after the given time', async () => {
    const run = gwctl(['--raw', '--for', '20s'])
    await serve()
    gateway.clock.advance(20_000)
    expect(await run.code).toBe(0)
    expect(jsonLines(run.stdout.text)).toHaveLength(3)
  })

  test('a reader that closes early is not a failure', async () => {
    const run = gwctl(['--raw', '--limit', '5'])
    await serve()
    run.stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
    expect(await run.code).toBe(0)
    expect(run.stderr.text).toBe('')
  })
})

describe('text', () => {
  test('prints a tree per request without a terminal', async () => {
    const run = gwctl([])
    await serve('/v1/chat', 404)
    expect(await run.code).toBe(0)
    expect(run.stdout.text).toMatch(/^POST http:\/\/api\.example\.com\/v1\/chat {2}404 in/)
    expect(run.stdout.text).toContain('listener         http on bind/3000  c.yaml:3')
  })

  test('an interrupted request is shown before the failure', async () => {
    const run = gwctl([])
    let x = gateway.arrive()
    while (x.trace === undefined) {
      await new Promise(setImmediate)
      x = gateway.arrive()
    }
    await admin.close()
    expect(await run.code).toBe(4)
    expect(run.stderr.text).toContain('broke before the trace was complete')
  })
})

describe('with nothing to record', () => {
  test('--wait exits with 5', async () => {
    const run = gwctl(['--wait', '20ms'])
    expect(await run.code).toBe(5)
    expect(run.stderr.text).toContain('no request came to')
    expect(run.stdout.text).toBe('')
  })

  test('no request within --for is reported, but not a failure', async () => {
    const run = gwctl(['--for', '20s'])
    let code: number | undefined
    void run.code.then(ended => {
      code = ended
    })
    while (code === undefined) {
      gateway.clock.advance(20_000)
      await new Promise(setImmediate)
    }
    expect([code, run.stdout.text]).toEqual([0, ''])
    expect(run.stderr.text).toMatch(/^Recording requests at .*\nNo request came\.\n$/)
  })

  test('an unreachable gateway exits with 4', async () => {
    await admin.close()
    const run = gwctl(['--raw'])
    expect(await run.code).toBe(4)
    expect(run.stderr.text).toContain('connection refused')
  })

  test('a gateway that stops during --follow exits with 4', async () => {
    const run = gwctl(['--raw', '--follow'])
    await serve()
    while (!run.stdout.text.includes('requestFinished')) await new Promise(setImmediate)
    gateway.trace.close()
    expect(await run.code).toBe(4)
    expect(run.stderr.text).toContain('is shutting down')
  })

  test.each([
    [['--where', 'request.path =='], 'invalid expression'],
    [['--where', 'jwt.sub == "a"'], 'jwt is not available when requests are selected'],
    [['--where', ' '], '--where is empty'],
    [['--limit', '0'], '--limit'],
    [['--for', '2h'], 'at most 1h'],
    [['--for', 'soon'], 'not a duration'],
    [['--file', 'x', '--follow'], '--follow'],
  ])('%j is a usage error', async (argv, words) => {
    const run = gwctl(['--raw', ...argv])
    expect(await run.code).toBe(2)
    expect(run.stderr.text).toContain(words)
  })
})

test('an invalid expression is reported before a gateway is contacted', async () => {
  await admin.close()
  const run = gwctl(['--raw', '--where', '1+'])
  expect(await run.code).toBe(2)
  expect(run.stderr.text).toContain('invalid expression')
})

describe('an unexpected server', () => {
  const answering = async (answer: (response: ServerResponse) => void) => {
    const server = createServer((_, response) => answer(response)).listen(0, '127.0.0.1')
    await new Promise(resolve => server.once('listening', resolve))
    const env = { GWCTL_ADMIN: `127.0.0.1:${(server.address() as AddressInfo).port}` }
    return { env, [Symbol.dispose]: () => server.close() }
  }
  const stream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' })

  test.each<[string, (response: ServerResponse) => void, string]>([
    ['404', response => response.writeHead(404).end('nope'), 'answered 404 (nope)'],
    ['500', response => response.writeHead(500).end(), 'answered 500'],
    ['403', response => response.writeHead(403).end('not you\n'), 'refuses: not you'],
    ['an ordinary page', response => response.writeHead(200).end('<html>'), 'answered'],
    ['a stream that ends at once', response => stream(response).end(': ready\n\n'), 'broke before'],
    ['a connection that breaks', response => response.destroy(), 'no gateway answers'],
  ])('%s exits with 4', async (_, answer, words) => {
    using server = await answering(answer)
    const run = gwctl(['--raw'], { env: server.env })
    expect(await run.code).toBe(4)
    expect(run.stderr.text).toContain(words)
  })

  test('an expression aborted for its cost exits with 2', async () => {
    using server = await answering(response =>
      stream(response).end(': ready\n\nevent: end\ndata: {"reason":"filter"}\n\n'),
    )
    const run = gwctl(['--raw', '--where', 'true'], { env: server.env })
    expect(await run.code).toBe(2)
    expect(run.stderr.text).toContain('its expression took too much of the requests')
  })

  test('events with invalid JSON are skipped and reported, and the rest is shown', async () => {
    const { texts } = ((recorder: Recorder) => {
      recorder.refused()
      return recorder
    })(new Recorder())
    using server = await answering(response =>
      stream(response).end(`: ready\n\ndata: {"seq":\n\n${texts.map(text => `data:${text}\n\n`).join('')}`),
    )
    const run = gwctl(['--raw'], { env: server.env })
    expect(await run.code).toBe(0)
    expect(jsonLines(run.stdout.text)).toHaveLength(texts.length)
    expect(run.stderr.text).toContain('skipped an event')
  })

  test('is called once, with POST, however the stream ends', async () => {
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`)
      stream(response).end(
        'retry: 1\n\ndata: {"eventEnd":1,"severity":"info","message":{"type":"requestFinished"}}\n\n',
      )
    }).listen(0, '127.0.0.1')
    await new Promise(resolve => server.once('listening', resolve))
    const run = gwctl(['--raw'], { env: { GWCTL_ADMIN: `127.0.0.1:${(server.address() as AddressInfo).port}` } })
    expect(await run.code).toBe(0)
    await new Promise(resolve => setTimeout(resolve, 30))
    server.close()
    expect(asked).toEqual(['POST /debug/trace'])
  })
})

describe('a saved trace', () => {
  const saved = () => {
    const recorder = new Recorder()
    recorder.refused('a', '/a')
    recorder.refused('b', '/b')
    return recorder.texts.join('\n')
  }

  test('is shown as trees, from a file', async () => {
    writeFileSync(join(folder, 'trace.jsonl'), saved())
    const run = gwctl(['-f', 'trace.jsonl'])
    expect(await run.code).toBe(0)
    expect(run.stdout.text.match(/403 in 4\.10 ms/g)).toHaveLength(2)
  })

  test('is printed as JSON Lines from stdin, despite CRLF and a truncated line', async () => {
    const run = gwctl(['--raw', '-f', '-'], { stdin: `${saved().replaceAll('\n', '\r\n')}\r\n{"seq": 15, "at` })
    expect(await run.code).toBe(0)
    expect(run.stdout.text).toBe(`${saved()}\n`)
    expect(run.stderr.text).toContain('skipped an event')
  })

  test('is read in the streaming format of the admin server', async () => {
    const stream = `: ready\n\n${saved().replaceAll(/^/gm, 'data: ').replaceAll('\n', '\n\n')}\n\nevent: end\ndata: {"reason":"time"}\n`
    const run = gwctl(['-f', '-'], { stdin: stream })
    expect(await run.code).toBe(0)
    expect(run.stdout.text).toContain('POST http://api.example.com/b  403')
  })

  test.each([
    ['nope.jsonl', undefined, 'nope.jsonl does not exist.'],
    ['empty.jsonl', '\n\n', 'holds no trace events'],
    ['other.txt', 'hello\n', 'holds no trace events'],
    ['log.jsonl', '{"level":"info"}\n{"level":"\u009b2Jwarn"}\n', 'holds no trace events'],
  ])('%s exits with 3', async (name, text, words) => {
    if (text !== undefined) writeFileSync(join(folder, name), text)
    const run = gwctl(['-f', name])
    expect(await run.code).toBe(3)
    expect(run.stderr.text).toContain(words)
    expect(run.stderr.text).not.toContain('\u009b')
  })
})

describe('on a terminal', () => {
  function open(argv: string[], env: Record<string, string> = {}) {
    const base = memoryIo({ cwd: folder, env: { GWCTL_ADMIN: admin.address, ...env } })
    const screen = new FakeScreen()
    const keyboard = new FakeKeyboard()
    const io: Io = { ...base, stdin: keyboard, stdout: screen, interruption: () => base.stop.signal }
    return { screen, keyboard, stop: base.stop, stderr: base.stderr, code: main(['trace', ...argv], io, root) }
  }

  test('follows requests on the screen until q', async () => {
    const { screen, keyboard, code } = open([])
    await screen.until(shown => shown.includes('waiting for a request'))
    await serve('/one')
    await serve('/two')
    await screen.until(shown => shown.includes('/one') && shown.includes('/two'))
    keyboard.write('q')
    expect(await code).toBe(0)
    expect(isRestored(screen, keyboard)).toBe(true)
  })

  test.each<[string, (opened: ReturnType<typeof open>) => unknown, number, string]>([
    ['Ctrl-C', ({ keyboard }) => keyboard.write('\u0003'), 130, 'stopped by Ctrl-C'],
    ['SIGTERM', ({ stop }) => stop.abort(new Failure('terminated', 'stopped by SIGTERM')), 143, 'stopped by SIGTERM'],
  ])('%s restores the terminal and prints the reason below', async (_, end, expected, words) => {
    const opened = open([])
    await opened.screen.until(shown => shown.includes('waiting for a request'))
    await end(opened)
    expect(await opened.code).toBe(expected)
    expect(isRestored(opened.screen, opened.keyboard)).toBe(true)
    expect(opened.stderr.text).toContain(words)
  })

  test('keeps what was recorded and continues when the gateway restarts', async () => {
    const { screen, keyboard, code } = open(['--record', 'kept.jsonl'])
    await screen.until(shown => shown.includes('waiting for a request'))
    await serve('/before')
    let running = gateway.arrive('/running')
    while (running.trace === undefined) running = gateway.arrive('/running')
    await screen.until(shown => /\/before +200/.test(shown) && shown.includes('/running'))
    const { address } = admin
    await admin.close()
    const lost = `connection lost, waiting for the gateway at ${address}`
    await screen.until(shown => shown.includes(lost) && /POST \/running +cut/.test(shown))
    gateway = new FakeGateway()
    admin = await startAdmin(address, gateway)
    await serve('/after')
    const whole = /\/before +200.*\n.*\/running +cut.*\n.*── connection lost ─+ .*\n.*\/after +200/
    await screen.until(shown => whole.test(shown) && shown.includes('again, lost once'))
    keyboard.write('q')
    expect(await code).toBe(0)
    // Both gateways number their requests from r1.
    const again = gwctl(['-f', 'kept.jsonl'])
    expect(await again.code).toBe(0)
    expect(again.stdout.text.match(/^POST \S+/gm)).toEqual(
      ['before', 'after', 'running'].map(path => `POST http://api.example.com/${path}`),
    )
  })

  test.each<[string, (opened: ReturnType<typeof open>) => unknown, number]>([
    ['q', ({ keyboard }) => keyboard.write('q'), 0],
    ['Ctrl-C', ({ keyboard }) => keyboard.write('\u0003'), 130],
    ['SIGTERM', ({ stop }) => stop.abort(new Failure('terminated', 'stopped by SIGTERM')), 143],
  ])('%s quits while the gateway is away', async (_, leave, expected) => {
    const opened = open([])
    await opened.screen.until(shown => shown.includes('waiting for a request'))
    gateway.trace.close()
    await opened.screen.until(shown => shown.includes('connection lost'))
    leave(opened)
    expect(await opened.code).toBe(expected)
    expect(isRestored(opened.screen, opened.keyboard)).toBe(true)
  })

  test('does not wait again for its own request after a lost connection, and exits with 4', async () => {
    await using served = await startGateway(
      'binds: [{port: 80, listeners: [{routes: [{policies: {delay: {duration: 1h}, directResponse: {status: 201}}}]}]}]',
    )
    const own = await startAdmin('127.0.0.1:0', Object.assign(new FakeGateway(), { trace: served.trace }))
    const opened = open(['--admin', own.address, '--', 'GET', `${served.url(80)}/mine`])
    await opened.screen.until(shown => shown.includes('/mine'))
    await own.close()
    await opened.screen.until(shown => shown.includes('exit code 4: the connection to'))
    opened.keyboard.write('q')
    expect(await opened.code).toBe(4)
  })

  test('--wait times out here as well', async () => {
    const opened = open(['--wait', '50ms'])
    expect(await opened.code).toBe(5)
    expect(opened.stderr.text).toContain('no request came')
  })

  test.each([{ TERM: 'dumb' }, { INK_SCREEN_READER: 'true' }])('%j gets text output', async env => {
    const { screen, code } = open([], env)
    await serve()
    expect(await code).toBe(0)
    expect(screen.text).not.toContain('\u001b[?1049h')
    expect(screen.text).toContain('listener')
  })

  test('a saved trace can be browsed', async () => {
    const recorder = new Recorder()
    recorder.refused()
    writeFileSync(join(folder, 'trace.jsonl'), recorder.texts.join('\n'))
    const { screen, keyboard, code } = open(['-f', 'trace.jsonl'])
    await screen.until(shown => shown.includes('the trace is complete') && shown.includes('Detail: authorization'))
    keyboard.write('q')
    expect(await code).toBe(0)
  })
})

describe('--record', () => {
  test('saves what is shown, for later viewing', async () => {
    const live = gwctl(['--record', 'kept.jsonl'])
    await serve('/kept')
    expect(await live.code).toBe(0)
    const again = gwctl(['-f', 'kept.jsonl'])
    expect(await again.code).toBe(0)
    expect(again.stdout.text).toBe(live.stdout.text)
  })

  test('an unwritable path exits with 3', async () => {
    const run = gwctl(['--record', 'no/such/kept.jsonl'])
    await serve()
    expect(await run.code).toBe(3)
    expect(run.stderr.text).toContain('cannot write no/such/kept.jsonl')
  })
})

describe('-o har', () => {
  const read = (text: string) => {
    const har = JSON.parse(text)
    expect(isHar(har), JSON.stringify(isHar.errors)).toBe(true)
    return har.log.entries.map((entry: { request: { url: string } }) => new URL(entry.request.url).pathname)
  }

  test('exports requests of a gateway without credentials', async () => {
    await using served = await startGateway(
      `binds: [{port: 80, listeners: [{routes: [{policies: {directResponse: {status: 201, body: hi}}}]}]}]`,
    )
    const own = await startAdmin('127.0.0.1:0', Object.assign(new FakeGateway(), { trace: served.trace }))
    const words = ['POST', `${served.url(80)}/mine?x=1`, '-H', 'authorization: Bearer very-secret', '-d', 'hello']
    const run = gwctl(['--admin', own.address, '-o', 'har', '--', ...words])
    expect(await run.code).toBe(0)
    await own.close()
    expect(read(run.stdout.text)).toEqual(['/mine'])
    expect(run.stdout.text).not.toContain('very-secret')
    const [entry] = JSON.parse(run.stdout.text).log.entries
    expect(entry.request.headers).toContainEqual({ name: 'authorization', value: '<redacted>' })
    expect(entry.response).toMatchObject({ status: 201, content: { size: 2 } })
    expect(entry._gateway).toMatchObject({ finished: true, lostEvents: 0 })
  })

  test('a signal ends the recording, and document and file are still written', async () => {
    const io = memoryIo({ cwd: folder, env: { GWCTL_ADMIN: admin.address } })
    const code = main(['trace', '--follow', '-o', 'har=all.har', '--record', 'all.jsonl'], io, root)
    await serve('/one')
    await serve('/two')
    const kept = join(folder, 'all.jsonl')
    await expect.poll(() => readFileSync(kept, 'utf8').match(/requestFinished/g)).toHaveLength(2)
    io.stop.abort(new Failure('interrupted', 'stopped by SIGINT'))
    expect(await code).toBe(130)
    expect(read(readFileSync(join(folder, 'all.har'), 'utf8'))).toEqual(['/one', '/two'])
    expect(io.stdout.text).toBe('')
    const again = gwctl(['-f', 'all.jsonl', '-o', 'har'])
    expect(await again.code).toBe(0)
    expect(again.stdout.text).toBe(readFileSync(join(folder, 'all.har'), 'utf8'))
  })

  test('a gateway that stops exits with 4, after writing what was received', async () => {
    const run = gwctl(['--follow', '-o', 'har', '--record', 'r.jsonl'])
    await serve('/one')
    await expect.poll(() => readFileSync(join(folder, 'r.jsonl'), 'utf8')).toContain('requestFinished')
    gateway.trace.close()
    expect(await run.code).toBe(4)
    expect(read(run.stdout.text)).toEqual(['/one'])
  })

  test('a missing file exits with 3 and writes no document', async () => {
    const run = gwctl(['-f', 'missing.jsonl', '-o', 'har'])
    expect(await run.code).toBe(3)
    expect(run.stdout.text).toBe('')
  })
})

describe('-o test', () => {
  test('exports the next request as a case valid in the schema, without credentials', async () => {
    await using served = await startGateway(
      `binds: [{port: 80, listeners: [{routes: [{name: mine, policies: {directResponse: {status: 201, body: hi}}}]}]}]`,
    )
    const own = await startAdmin('127.0.0.1:0', Object.assign(new FakeGateway(), { trace: served.trace }))
    const words = ['POST', `${served.url(80)}/mine?x=1`, '-H', 'authorization: Bearer very-secret', '-d', 'hello']
    const run = gwctl(['--admin', own.address, '-o', 'test', '--', ...words])
    expect(await run.code).toBe(0)
    await own.close()
    expect(run.stdout.text).not.toContain('very-secret')
    const file = parse(run.stdout.text)
    expect(problemsOf(file)).toEqual([])
    expect(file.cases).toMatchObject([
      { request: { method: 'POST', url: `${served.url(80)}/mine?x=1` }, expect: { status: 201 } },
    ])
  })

  test('exports several requests to a file with a relative configuration path', async () => {
    mkdirSync(join(folder, 'tests'))
    const run = gwctl(['-o', 'test=tests/all.gwtest.yaml', '--limit', '2'])
    await serve('/one')
    await serve('/two', 404)
    expect(await run.code).toBe(0)
    const file = parse(readFileSync(join(folder, 'tests/all.gwtest.yaml'), 'utf8'))
    expect(problemsOf(file)).toEqual([])
    expect(file).toMatchObject({
      config: '../c.yaml',
      cases: [{ name: 'POST /one answers 200' }, { name: 'POST /two answers 404' }],
    })
    expect(run.stdout.text).toBe('')
  })

  test('explains in the file how a case reaches a rate limit', async () => {
    const run = gwctl(['-o', 'test'])
    await serve('/limited', 429)
    expect(await run.code).toBe(0)
    expect(run.stdout.text.split('\n', 1)[0]).toMatch(/^# .*: a case begins with full budgets, .*repeat/)
    expect(parse(run.stdout.text).cases).toMatchObject([{ expect: { status: 429 } }])
  })

  test('skips requests that started before the trace', async () => {
    const recorder = new Recorder()
    recorder.refused('r1', '/whole')
    const late = new Recorder()
    late.add({
      type: 'requestStarted',
      method: 'GET',
      url: '*',
      source: '10.1.2.3:51000',
      time: '2026-01-15T12:30:45Z',
    })
    late.finish('r2', 200)
    writeFileSync(join(folder, 'trace.jsonl'), [...recorder.texts, ...late.texts].join('\n'))
    const run = gwctl(['-f', 'trace.jsonl', '-o', 'test'])
    expect(await run.code).toBe(0)
    expect(parse(run.stdout.text).cases).toMatchObject([{ request: { url: expect.stringContaining('/whole') } }])
  })

  test('exits with 3 and writes no file when no request has ended', async () => {
    const recorder = new Recorder()
    recorder.start()
    writeFileSync(join(folder, 'trace.jsonl'), recorder.texts.join('\n'))
    const run = gwctl(['-f', 'trace.jsonl', '-o', 'test=a.gwtest.yaml'])
    expect(await run.code).toBe(3)
    expect(run.stderr.text).toContain('no request has been seen from its start to its end')
    expect(existsSync(join(folder, 'a.gwtest.yaml'))).toBe(false)
  })

  function problemsOf(file: unknown): readonly unknown[] {
    const problems: unknown[] = []
    const context = {
      report: (problem: unknown) => problems.push(problem),
      paths: new WeakMap(),
      cel: undefined,
      patterns: createPatternCompiler(),
      missing: new Set<never>(),
    }
    decode(testFile, file, [], context)
    return problems
  }
})

test('-o tui is the terminal default, and cannot go to a file', async () => {
  const run = gwctl(['-o', 'tui'])
  await serve()
  expect(await run.code).toBe(0)
  expect(run.stdout.text).toContain('200 in')
  expect(await gwctl(['-o', 'tui=x']).code).toBe(2)
})

test.each([
  ['raw', '"requestFinished"'],
  ['text', '200 in'],
])('-o %s=FILE writes to the file instead of stdout', async (format, words) => {
  const run = gwctl(['-o', `${format}=out.txt`])
  await serve()
  expect(await run.code).toBe(0)
  expect(run.stdout.text).toBe('')
  expect(readFileSync(join(folder, 'out.txt'), 'utf8')).toContain(words)
})

describe('a request sent by trace itself', () => {
  test('is sent once recording has started, and is the only one shown', async () => {
    await using served = await startGateway(
      `binds: [{port: 80, listeners: [{routes: [{policies: {directResponse: {status: 201, body: hi}}}]}]}]`,
    )
    const own = await startAdmin('127.0.0.1:0', Object.assign(new FakeGateway(), { trace: served.trace }))
    const url = served.url(80)
    // Others come meanwhile, from other connections.
    const noise = setInterval(() => void fetch(`${url}/noise`).catch(() => {}), 5)
    const run = gwctl([
      '--admin',
      own.address,
      '--raw',
      '--',
      'POST',
      `${url}/mine?x=1`,
      '-H',
      'x-team: a',
      '-d',
      'hello',
    ])
    expect(await run.code).toBe(0)
    clearInterval(noise)
    await own.close()
    const events = run.stdout.text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as { message: { type: string; url?: string; status?: number } })
    expect(events[0]?.message).toMatchObject({ type: 'requestStarted', url: `${url}/mine?x=1` })
    expect(events.at(-1)?.message).toMatchObject({ type: 'requestFinished', status: 201 })
    expect(run.stdout.text).toContain('["x-team","a"]')
    expect(run.stdout.text).not.toContain('/noise')
  })

  test('exits with 5 without waiting when another gateway answers it', async () => {
    await using served = await startGateway(
      `binds: [{port: 80, listeners: [{routes: [{policies: {directResponse: {status: 201, body: hi}}}]}]}]`,
    )
    const run = gwctl(['--raw', '--', 'GET', `${served.url(80)}/mine`])
    expect(await run.code).toBe(5)
    expect(run.stderr.text).toContain(`the request is over, and ${admin.address} has not seen it`)
    expect(run.stdout.text).toBe('')
  })

  test.each<[string[], number, string]>([
    [['GET'], 2, 'needs a URL'],
    [['GET', 'ftp://h'], 2, 'not an HTTP URL'],
    [['GET', 'http://127.0.0.1:1/'], 4, '127.0.0.1:1 cannot be reached: connection refused.\nIt is where'],
    [['GET', 'http://h', '--proxy', 'p'], 2, 'not an option that gwctl knows'],
    [['GET', 'http://h', '-H', 'nonsense'], 2, 'is not a header'],
    [['POST', 'http://h', '-d', '@missing'], 3, 'cannot read missing'],
    [['GET', 'https://127.0.0.1:1/'], 4, '127.0.0.1:1 cannot be reached'],
    [['GET', 'https://[::1]:1/'], 4, '[::1]:1 cannot be reached'],
  ])('-- %s', async (words, code, message) => {
    const run = gwctl(['--', ...words])
    expect(await run.code).toBe(code)
    expect(run.stderr.text).toContain(message)
  })
})

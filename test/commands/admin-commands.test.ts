import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { main } from '../../src/cli/main.ts'
import type { Listening } from '../../src/engine/admin/listen.ts'
import { startAdmin } from '../../src/engine/admin/server.ts'
import { MemoryOutput, memoryIo } from '../cli/memory-io.ts'
import { FakeGateway } from '../engine/admin/running-admin.ts'
import { startSilentServer } from '../helpers/silent-server.ts'

const root = new URL('../../', import.meta.url)
let folder: string
let gateway: FakeGateway
let admin: Listening

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-admin-'))
  gateway = new FakeGateway()
  gateway.dumped = dumpWith([])
  admin = await startAdmin('127.0.0.1:0', gateway)
})

afterEach(async () => {
  await admin.close()
  rmSync(folder, { recursive: true })
})

async function gwctl(...argv: string[]) {
  const io = memoryIo({ cwd: folder, env: { GWCTL_ADMIN: admin.address } })
  const code = await main(argv, io, root)
  return { code, out: io.stdout.text, err: io.stderr.text }
}

function dumpWith(health: readonly (readonly { endpoint: string; state: string }[])[]) {
  const backends = health.map((each, i) => ({
    key: `/b${i}`,
    name: `b${i}`,
    kind: 'service',
    protocol: 'http',
    health: each,
    origin: 'g.yaml:1:1',
  }))
  const rest = { binds: [], listeners: [], routes: [], policies: [], services: [], workloads: [] }
  return { ...rest, backends, version: { version: '1' }, config: {} }
}

describe('gwctl log', () => {
  test('shows the filter', async () => {
    expect(await gwctl('log')).toEqual({ code: 0, out: 'info\n', err: '' })
  })

  test('changes and resets the filter', async () => {
    expect((await gwctl('log', '--level', 'warn', '--set', 'gateway=trace', '--set', 'request=off')).out).toBe(
      'gateway=trace,request=off,warn\n',
    )
    expect(gateway.log.filter()).toBe('gateway=trace,request=off,warn')
    expect((await gwctl('log', '--reset')).out).toBe('info\n')
  })

  test('an unknown level exits with 2, even without a gateway', async () => {
    for (const more of [[], ['--admin', '127.0.0.1:1']]) {
      const { code, err } = await gwctl('log', '--set', 'gateway=loud', ...more)
      expect([code, err]).toEqual([2, expect.stringContaining('loud is not a level')])
    }
    expect(gateway.log.filter()).toBe('info')
  })

  test('a level without its flag exits with 2 and suggests the flag', async () => {
    const { code, err } = await gwctl('log', 'debug', 'mcp=trace')
    expect(code).toBe(2)
    expect(err).toContain('did you mean `--level debug --set mcp=trace`?')
    expect(gateway.log.filter()).toBe('info')
  })

  test('escapes control sequences in replies from another server', async () => {
    const answer = 'current log level is \u001b]0;title\u0007info\n'
    const other = createServer((_, reply) => reply.end(answer)).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { out } = await gwctl('log', '--admin', `127.0.0.1:${(other.address() as AddressInfo).port}`)
    other.close()
    expect(out).toBe('␛]0;title␇info\n')
  })
})

describe('gwctl health', () => {
  const healthy = { endpoint: '10.0.0.1:80', state: 'healthy' }
  const evicted = { endpoint: '10.0.0.2:80', state: 'evicted' }

  test('a ready gateway exits with 0', async () => {
    expect(await gwctl('health')).toEqual({ code: 0, out: 'ready\n', err: '' })
  })

  test('a gateway that is not ready exits with 1 and lists what is pending', async () => {
    gateway.pending = ['configuration']
    expect(await gwctl('health')).toEqual({ code: 1, out: 'not ready, pending: configuration\n', err: '' })
  })

  test('a gateway that is not ready in time exits with 5', async () => {
    gateway.pending = ['configuration']
    const { code, err } = await gwctl('health', '--wait', '1ms')
    expect(code).toBe(5)
    expect(err).toContain('the gateway is not ready after 0.001s: ')
  })

  test('a backend with some evicted endpoints still exits with 0', async () => {
    gateway.dumped = dumpWith([[healthy, evicted], [healthy]])
    expect(await gwctl('health')).toEqual({
      code: 0,
      out: 'ready\ndegraded /b0: 1 of 2 endpoints healthy, left out: 10.0.0.2:80\nhealthy /b1: 1 of 1 endpoints healthy\n',
      err: '',
    })
  })

  test('a backend without a healthy endpoint exits with 1', async () => {
    gateway.dumped = dumpWith([[evicted]])
    const { code, out } = await gwctl('health', '-o', 'json')
    expect(code).toBe(1)
    expect(JSON.parse(out)).toEqual({
      ready: true,
      backends: [{ backend: '/b0', state: 'down', endpoints: 1, evicted: ['10.0.0.2:80'] }],
    })
  })

  test('an unreachable gateway exits with 4', async () => {
    await admin.close()
    expect((await gwctl('health')).code).toBe(4)
  })
})

describe('gwctl profile', () => {
  /** The gateway's time passes meanwhile. */
  async function inTime<T>(run: Promise<T>): Promise<T> {
    const passing = setInterval(() => gateway.clock.advance(10_000), 10)
    return run.finally(() => clearInterval(passing))
  }

  test('writes a pprof file with a generated name', async () => {
    const { code, out, err } = await inTime(gwctl('profile', 'heap'))
    const [file] = readdirSync(folder)
    expect({ code, out }).toEqual({ code: 0, out: `${file}\n` })
    expect(err).toContain(`go tool pprof -http=: ${file}`)
    expect(file).toMatch(/^gwctl-heap-\d{8}T\d{6}\.pb\.gz$/)
    expect(gunzipSync(readFileSync(join(folder, file as string))).toString('latin1')).toContain('inuse_space')
  })

  test('writes to a given file', async () => {
    const { out } = await inTime(gwctl('profile', 'cpu', '-o', 'pprof=cpu.pb.gz'))
    expect(out).toBe('cpu.pb.gz\n')
    expect(readdirSync(folder)).toEqual(['cpu.pb.gz'])
  })

  test.each(['pprof', 'pprof=-'])('-o %s writes only the raw profile to stdout', async output => {
    const chunks: Buffer[] = []
    const io = memoryIo({ cwd: folder, env: { GWCTL_ADMIN: admin.address } })
    const stdout = Object.assign(new MemoryOutput(), {
      _write: (chunk: string | Buffer, _encoding: string, done: () => void) => {
        chunks.push(Buffer.from(chunk))
        done()
      },
    })
    expect(await inTime(main(['profile', 'cpu', '-o', output], { ...io, stdout }, root))).toBe(0)
    expect(gunzipSync(Buffer.concat(chunks)).toString('latin1')).toContain('nanoseconds')
    // In so short a time there may be nothing to see, which is told beside.
    expect([io.stderr.text.replace(/^It is empty: .*\n/, ''), readdirSync(folder)]).toEqual(['', []])
  })

  test('reports an empty profile', async () => {
    const empty = createServer((_request, response) => response.end(gzipSync(''))).listen(0, '127.0.0.1')
    await once(empty, 'listening')
    const address = `127.0.0.1:${(empty.address() as AddressInfo).port}`
    const { code, err } = await gwctl('profile', 'cpu', '--seconds', '1', '--admin', address)
    expect([code, err]).toEqual([0, expect.stringContaining('It is empty: in 1s the gateway did next to nothing.')])
    empty.close()
  })

  test('refuses to write bytes to a terminal, exiting with 2 before recording', async () => {
    const io = memoryIo({ cwd: folder, env: { GWCTL_ADMIN: admin.address } })
    const stdout = new MemoryOutput({ isTTY: true })
    expect(await main(['profile', 'cpu', '-o', 'pprof=-'], { ...io, stdout }, root)).toBe(2)
    expect([stdout.text, gateway.clock.pending]).toEqual(['', 0])
    expect(io.stderr.text).toContain('-o pprof=PATH')
  })

  test.each([
    ['a missing directory', 'pprof=nowhere/cpu.pb.gz', 'there is no directory nowhere'],
    ['a directory', 'pprof=.', 'it is a directory'],
  ])('%s exits with 3 before recording', async (_, output, words) => {
    const { code, err } = await gwctl('profile', 'cpu', '--seconds', '300', '-o', output)
    expect([code, gateway.clock.pending]).toEqual([3, 0])
    expect(err).toContain(words)
  })

  test('a reply from a different server exits with 4 and writes no file', async () => {
    const other = createServer((_request, response) => response.end('hello')).listen(0, '127.0.0.1')
    await new Promise(resolve => other.once('listening', resolve))
    const address = `127.0.0.1:${(other.address() as AddressInfo).port}`
    expect((await gwctl('profile', 'cpu', '--admin', address)).code).toBe(4)
    expect(readdirSync(folder)).toEqual([])
    other.close()
  })

  test('trace writes nothing when there was no request, and says so', async () => {
    const run = gwctl('profile', 'trace', '--seconds', '1', '-o', 'timeline=none.json')
    let over = false
    void run.then(() => {
      over = true
    })
    while (!over) {
      gateway.clock.advance(1000)
      await new Promise(setImmediate)
    }
    const { code, out, err } = await run
    expect([code, out, existsSync(join(folder, 'none.json'))]).toEqual([5, '', false])
    expect(err).toContain('no request came within 1s, so there is nothing to write.')
  })

  test('trace writes a timeline of the requests made in the meantime', async () => {
    const run = gwctl('profile', 'trace', '--seconds', '5', '-o', 'timeline=t.json')
    for (const path of ['/one', '/two']) {
      let x = gateway.arrive(path)
      while (x.trace === undefined) {
        await new Promise(setImmediate)
        x = gateway.arrive(path)
      }
      const from = x.trace.now()
      x.trace.emit(
        { type: 'policy', policy: 'cors', phase: 'route', result: 'applied' },
        { origins: [{ file: 'c.yaml', line: 3, col: 1 }], from },
      )
      gateway.finish(x, 200)
    }
    const { code, out, err } = await inTime(run)
    expect([code, out]).toEqual([0, 't.json\n'])
    expect(err).toContain('2 requests.')
    const { traceEvents } = JSON.parse(readFileSync(join(folder, 't.json'), 'utf8'))
    expect(traceEvents).toContainEqual(
      expect.objectContaining({ ph: 'X', name: expect.stringMatching(/^[A-Z]+ .one$/), tid: 1 }),
    )
    expect(traceEvents).toContainEqual(
      expect.objectContaining({ ph: 'X', name: expect.stringMatching(/^[A-Z]+ .two$/), tid: 2 }),
    )
    const steps = traceEvents.filter(({ args }: { args: { at?: string[] } }) => args.at?.includes('c.yaml:3'))
    expect(steps.map(({ ph, tid }: { ph: string; tid: number }) => [ph, tid])).toEqual([
      ['X', 1],
      ['X', 2],
    ])
  })

  test('a kind cannot be written in the format of another', async () => {
    expect((await gwctl('profile', 'cpu', '-o', 'timeline=a')).code).toBe(2)
    expect((await gwctl('profile', 'trace', '-o', 'pprof=a')).code).toBe(2)
  })

  test('an unknown kind is a usage error', async () => {
    expect((await gwctl('profile', 'disk')).code).toBe(2)
  })
})

describe('a gateway listener in place of the admin server', () => {
  test.each([
    ['log'],
    ['log', '--level', 'debug'],
    ['dump'],
    ['health'],
    ['top', '--once'],
    ['profile', 'cpu', '--seconds', '1'],
    ['trace', '--where', 'true'],
    ['diff', 'live', 'live'],
  ])('%s %s: a 400 is not a usage error', async (...argv) => {
    const server = createServer((_, reply) => {
      reply.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"a body is missing"}')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { code, err } = await gwctl(...argv, '--admin', url)
    server.close()
    expect(code).toBe(4)
    expect(err).toContain(`${url} answered 400 ({"error":"a body is missing"})`)
    expect(err).toContain('Is that the admin address of a gateway, and not one of its listeners?')
  })
})

describe('gwctl completion', () => {
  /** What bash offers after these words, the last of them half written. */
  async function offered(...words: string[]): Promise<string[]> {
    const { out } = await gwctl('completion', 'bash')
    const list = words.map(word => `'${word}'`).join(' ')
    const script = `${out}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _gwctl; printf '%s\\n' "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['-c', script], { encoding: 'utf8', cwd: folder }).trim().split('\n')
  }

  test('bash completes commands, flags, flag values and arguments', async () => {
    expect(await offered('gwctl', '')).toEqual(expect.arrayContaining(Object.keys(COMMANDS)))
    expect(await offered('gwctl', 'hea')).toEqual(['health'])
    expect(await offered('gwctl', 'run', '--wor')).toEqual(['--workers'])
    expect(await offered('gwctl', 'run', '--no-w')).toEqual(['--no-watch'])
    expect(await offered('gwctl', 'validate', '--fail-on', '')).toEqual(['error', 'warning', 'info', 'never'])
    expect(await offered('gwctl', 'dump', '-o', 'js')).toEqual(['json', 'jsonl'])
    expect(await offered('gwctl', 'dump', 'ro')).toEqual(['routes'])
  })

  test.each(['zsh', 'fish'])('%s completes every command and flag', async shell => {
    const { out } = await gwctl('completion', shell)
    for (const id of Object.keys(COMMANDS)) expect(out).toContain(id)
    expect(out).toContain('effective')
    expect(out).toContain('yaml json jsonl table wide dot')
  })

  test('an unsupported shell is a usage error', async () => {
    expect((await gwctl('completion', 'tcsh')).code).toBe(2)
  })
})

test.each([
  ['dump'],
  ['log'],
  ['health'],
  ['top', '--once'],
  ['trace'],
  ['profile', 'heap', '--seconds', '1'],
  ['profile', 'trace', '--seconds', '1'],
  ['diff', 'live', 'x.yaml'],
])('a gateway that accepts the connection but never answers: %s %s', async (...argv) => {
  await using server = await startSilentServer()
  const { code, out, err } = await gwctl(...argv, '--admin', server.address, '--timeout', '20ms')
  expect({ code, out }).toEqual({ code: 5, out: '' })
  expect(err).toContain(`http://${server.address} does not answer within `)
  expect(err).toContain('wait longer with --timeout')
})

test.each([
  [['rotes'], 'there is no view rotes: did you mean `routes`?'],
  [['routes', '--unused'], '--unused takes no view, not routes.'],
])('dump %j is a usage error, with or without a gateway', async (argv, message) => {
  const { code, err } = await gwctl('dump', ...argv, '--admin', '127.0.0.1:1')
  expect(code).toBe(2)
  expect(err).toContain(message)
})

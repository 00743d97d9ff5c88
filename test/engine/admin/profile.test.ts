import { get } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Listening } from '../../../src/engine/admin/listen.ts'
import { encodePprof } from '../../../src/engine/admin/pprof.ts'
import { startAdmin } from '../../../src/engine/admin/server.ts'
import { call, FakeGateway } from './running-admin.ts'

let gateway: FakeGateway
let admin: Listening

beforeEach(async () => {
  gateway = new FakeGateway()
  admin = await startAdmin('127.0.0.1:0', gateway)
})

afterEach(() => admin.close())

/** The number that begins there, and where the next one does. */
function varintAt(bytes: Buffer, start: number): [value: bigint, end: number] {
  let value = 0n
  let at = start
  for (let shift = 0n; ; shift += 7n) {
    const byte = bytes[at++]!
    value |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) return [value, at]
  }
}

/** The fields of a protocol buffers message: numbers as bigint, everything else as bytes. */
function fieldsOf(bytes: Buffer): { field: number; value: bigint | Buffer }[] {
  const out: { field: number; value: bigint | Buffer }[] = []
  let at = 0
  const varint = () => {
    const [value, end] = varintAt(bytes, at)
    at = end
    return value
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const number = varint()
    if (tag % 8 === 0) out.push({ field: tag >> 3, value: number })
    else {
      out.push({ field: tag >> 3, value: bytes.subarray(at, at + Number(number)) })
      at += Number(number)
    }
  }
  return out
}

function profileOf(gzipped: Buffer) {
  const fields = fieldsOf(gunzipSync(gzipped))
  const all = (field: number) => fields.filter(found => found.field === field).map(({ value }) => value)
  const texts = all(6).map(String)
  const first = (message: bigint | Buffer | undefined, field: number) =>
    Number(fieldsOf(message as Buffer).find(found => found.field === field)?.value)
  const values = (sample: bigint | Buffer) =>
    fieldsOf(sample as Buffer).find(({ field }) => field === 2)?.value as Buffer
  return {
    types: all(1).map(type => [texts[first(type, 1)], texts[first(type, 2)]]),
    samples: all(2).length,
    /** The first value of all samples together. */
    hits: all(2).reduce<number>((sum, sample) => sum + Number(varintAt(values(sample), 0)[0]), 0),
    texts,
    functions: all(5).map(message => texts[first(message, 2)]),
    duration: Number(all(10)[0]),
    period: Number(all(12)[0]),
  }
}

test('encodes strings and functions once, locations by line, and values beyond 32 bits', () => {
  const outer = { name: 'main', file: 'main.js', line: 1 }
  const profile = profileOf(
    encodePprof({
      types: [{ type: 'cpu', unit: 'nanoseconds' }],
      samples: [
        { stack: [{ name: 'work', file: 'work.js', line: 300 }, outer], values: [5_000_000_000] },
        { stack: [{ name: 'work', file: 'work.js', line: 301 }, outer], values: [1] },
      ],
      period: 10_000_000,
      startedAt: Date.UTC(2026, 0, 1),
      duration: 10_000,
    }),
  )
  expect(profile).toEqual({
    types: [['cpu', 'nanoseconds']],
    samples: 2,
    hits: 5_000_000_001,
    texts: ['', 'work', 'work.js', 'main', 'main.js', 'cpu', 'nanoseconds'],
    functions: ['work', 'main'],
    duration: 10_000_000_000,
    period: 10_000_000,
  })
})

/** Asks for a profile, lets `work` happen while it is taken, and ends it by moving the clock. */
async function profiled(path: string, work: () => unknown) {
  const [host, port] = admin.address.split(':')
  const answer = new Promise<{ status: number | undefined; body: Buffer }>((resolve, reject) => {
    const sent = get({ host, port, path }, async reply => {
      resolve({ status: reply.statusCode, body: await buffer(reply) })
    })
    sent.on('error', reject)
  })
  // A heap profile looks at each half by itself.
  for (const _half of [1, 2]) {
    while (gateway.clock.pending === 0) await new Promise(setImmediate)
    await work()
    gateway.clock.advance(5000)
  }
  return answer
}

/** Calls instead of one long loop: V8 cannot always tell whose code it has put in the place of a running one. */
function burnProcessorTime() {
  const before = process.threadCpuUsage()
  while (process.threadCpuUsage(before).user < 150_000) fibonacci(20)
}

function fibonacci(n: number): number {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2)
}

test('a CPU profile names the busy function', async () => {
  const { status, body } = await profiled('/debug/pprof/profile?seconds=10', burnProcessorTime)
  expect(status).toBe(200)
  const profile = profileOf(body)
  expect(profile.types.at(-1)).toEqual(['cpu', 'nanoseconds'])
  expect(profile.functions).toContain('fibonacci')
  expect(profile.duration).toBe(10_000_000_000)
})

test('a heap profile names the function that retains memory', async () => {
  const held: unknown[] = []
  const { body } = await profiled('/debug/pprof/heap', function holdMemory() {
    for (let i = 0; i < 20_000; i++) held.push({ i, text: `text ${i}`, list: [i] })
  })
  expect(profileOf(body).types.at(-1)).toEqual(['inuse_space', 'bytes'])
  expect(profileOf(body).functions).toContain('holdMemory')
  expect(held).toHaveLength(40_000)
})

test('a heap profile without retained memory still names the allocating function', async () => {
  let sum = 0
  const { body } = await profiled('/debug/pprof/heap', function makeGarbage() {
    for (let i = 0; i < 200_000; i++) sum += [...`text ${i}`].length
  })
  const { types, functions } = profileOf(body)
  expect(types.map(([type]) => type)).toEqual(['alloc_objects', 'alloc_space', 'inuse_objects', 'inuse_space'])
  expect(functions).toContain('makeGarbage')
  expect(sum).toBeGreaterThan(0)
})

test('only one profile runs at a time, and the next one works', async () => {
  const first = await profiled('/debug/pprof/profile', async () => {
    expect((await call(admin.address, '/debug/pprof/heap')).status).toBe(429)
  })
  expect(first.status).toBe(200)
  expect((await profiled('/debug/pprof/profile', () => {})).status).toBe(200)
})

test.each(['profile', 'heap'])('/debug/pprof/%s ends when its client disconnects', async kind => {
  const [host, port] = admin.address.split(':')
  const sent = get({ host, port, path: `/debug/pprof/${kind}?seconds=300` })
  sent.on('error', () => {})
  while (gateway.clock.pending === 0) await new Promise(setImmediate)
  sent.destroy()
  while (gateway.clock.pending > 0) await new Promise(setImmediate)
  expect((await profiled('/debug/pprof/profile', () => {})).status).toBe(200)
})

test('collects the requested number of samples per second', async () => {
  const often = profileOf((await profiled('/debug/pprof/profile?frequency=1000', burnProcessorTime)).body)
  const rarely = profileOf((await profiled('/debug/pprof/profile?frequency=1', burnProcessorTime)).body)
  expect([often.period, rarely.period]).toEqual([1_000_000, 1_000_000_000])
  // Of hundreds that it could be, a busy machine takes a few; of the other kind, there is none or one.
  expect(often.hits).toBeGreaterThan(2 * rarely.hits)
})

test('anonymous functions are distinguished by their location', async () => {
  const { body } = await profiled(
    '/debug/pprof/profile?frequency=1000',
    (
      () => () =>
        void burnProcessorTime()
    )(),
  )
  expect(profileOf(body).functions).toContainEqual(expect.stringMatching(/^\(anonymous profile\.test\.ts:\d+\)$/))
})

test.each(['0', '301', '-1', 'abc', '', '1.5'])('seconds=%s is rejected', async seconds => {
  for (const kind of ['profile', 'heap']) {
    const { status, text } = await call(admin.address, `/debug/pprof/${kind}?seconds=${seconds}`)
    expect([status, text]).toEqual([400, 'seconds takes a number from 1 to 300\n'])
  }
})

test.each([
  ['profile?frequency=0', 'frequency takes a number from 1 to 1000\n'],
  ['profile?frequency=1001', 'frequency takes a number from 1 to 1000\n'],
  ['profile?second=5', 'there is no parameter second: seconds, frequency\n'],
  ['heap?frequency=100', 'there is no parameter frequency: seconds\n'],
  ['heap?seconds=1&seconds=300', 'seconds is given more than once\n'],
])('%s is rejected', async (query, reason) => {
  const { status, text } = await call(admin.address, `/debug/pprof/${query}`)
  expect([status, text]).toEqual([400, reason])
})

test('tasks are counted by kind', async () => {
  const report = JSON.parse((await call(admin.address, '/debug/tasks')).text) as { workload: Record<string, number> }
  expect(report.workload.TCPServerWrap ?? report.workload.TCPSocketWrap).toBeGreaterThan(0)
})

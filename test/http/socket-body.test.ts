import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { type BodyLimits, BodyMemory } from '../../src/http/body-memory.ts'
import { SocketBody } from '../../src/http/socket-body.ts'
import { ManualClock } from '../engine/manual-clock.ts'

const UNLIMITED: BodyLimits = { total: Number.POSITIVE_INFINITY, timeout: 0, minRate: 0 }

/** What reading takes, with a clock that stands still. */
function reading(limits: Partial<BodyLimits> = {}) {
  const bodies = new BodyMemory()
  bodies.limits = { ...UNLIMITED, ...limits }
  return { clock: new ManualClock(), bodies }
}

function source(chunks: readonly string[]): Readable {
  let at = 0
  return new Readable({
    read() {
      this.push(at < chunks.length ? Buffer.from(chunks[at++]!) : null)
    },
  })
}

async function textOf(body: Buffer | Readable | undefined): Promise<string> {
  if (body === undefined || Buffer.isBuffer(body)) return String(body)
  let text = ''
  for await (const chunk of body) text += chunk
  return text
}

describe('a buffered body', () => {
  test('stays available to later readers', async () => {
    const body = new SocketBody(source(['ab', 'cd']), undefined, reading())
    expect(String(await body.buffer(4))).toBe('abcd')
    expect(String(body.bytes)).toBe('abcd')
    expect(String(await body.buffer(4))).toBe('abcd')
    await expect(body.buffer(3)).rejects.toMatchObject({ code: 'bodyTooLarge' })
    expect(await textOf(body.take())).toBe('abcd')
  })

  test('is read once for concurrent readers, each with its own limit', async () => {
    const body = new SocketBody(source(['ab', 'cd']), undefined, reading())
    const [small, large] = await Promise.allSettled([body.buffer(3), body.buffer(4)])
    expect([small.status, large.status]).toEqual(['rejected', 'fulfilled'])
    expect(String(body.bytes)).toBe('abcd')
  })

  test.each([
    [3, 'rejected'],
    [5, 'rejected'],
    [6, 'fulfilled'],
  ])('read again with limit %d after exceeding 3: %s', async (limit, outcome) => {
    const body = new SocketBody(source(['ab', 'cd', 'ef']), undefined, reading())
    await expect(body.buffer(3)).rejects.toMatchObject({ code: 'bodyTooLarge' })
    const [again] = await Promise.allSettled([body.buffer(limit)])
    expect(again.status).toBe(outcome)
    expect(await textOf(body.take())).toBe('abcdef')
  })

  test('with an announced length over the limit is not read at all', async () => {
    let reads = 0
    const from = new Readable({
      read() {
        reads++
        this.push(null)
      },
    })
    await expect(new SocketBody(from, 10, reading()).buffer(9)).rejects.toMatchObject({ code: 'bodyTooLarge' })
    expect(reads).toBe(0)
  })

  test('from a client that disconnects, before or during the read, is unreadable', async () => {
    const gone = source(['ab'])
    gone.destroy()
    await expect(new SocketBody(gone, undefined, reading()).buffer(9)).rejects.toMatchObject({ code: 'bodyUnreadable' })
    const leaving = new Readable({ read() {} })
    leaving.push('ab')
    const whole = new SocketBody(leaving, undefined, reading()).buffer(9)
    setImmediate(() => leaving.destroy())
    await expect(whole).rejects.toMatchObject({ code: 'bodyUnreadable' })
  })
})

describe('a body forwarded after a partial read', () => {
  test('arrives complete, in order and with backpressure', async () => {
    let made = 0
    const from = new Readable({
      highWaterMark: 1024,
      read() {
        made++
        this.push(made <= 1000 ? Buffer.alloc(1024, made % 256) : null)
      },
    })
    const body = new SocketBody(from, undefined, reading())
    await expect(body.buffer(10 * 1024)).rejects.toMatchObject({ code: 'bodyTooLarge' })
    const rest = body.take() as Readable
    await new Promise(resolve => setImmediate(resolve))
    expect(made).toBeLessThan(20)
    const seen: Buffer[] = []
    for await (const chunk of rest) seen.push(chunk)
    const all = Buffer.concat(seen)
    expect(all.length).toBe(1000 * 1024)
    expect(all.every((byte, i) => byte === (Math.floor(i / 1024) + 1) % 256)).toBe(true)
  })

  test('fails when its source fails', async () => {
    const from = new Readable({ read() {} })
    from.push('abcdef')
    const body = new SocketBody(from, undefined, reading())
    await expect(body.buffer(3)).rejects.toMatchObject({ code: 'bodyTooLarge' })
    const rest = textOf(body.take())
    from.destroy(new Error('the client left'))
    await expect(rest).rejects.toThrow('the client left')
  })
})

test('100 Continue is sent once, when the body is first read', async () => {
  let asked = 0
  const body = new SocketBody(source(['ab']), 2, reading(), () => asked++)
  expect(asked).toBe(0)
  await body.buffer(2)
  body.take()
  expect(asked).toBe(1)
  const taken = new SocketBody(source(['ab']), 2, reading(), () => asked++)
  taken.take()
  expect(asked).toBe(2)
})

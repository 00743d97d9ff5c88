import { Readable } from 'node:stream'
import { setImmediate as turnOver } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { joinSmallFrames } from '../../../src/engine/inbound/join-small-frames.ts'

function joined(): Readable {
  const stream = new Readable({ read() {}, highWaterMark: 64 * 1024 })
  joinSmallFrames(stream)
  return stream
}

test('unread single-byte frames are merged', async () => {
  const stream = joined()
  for (let i = 0; i < 60_000; i++) stream.push(Buffer.from([i & 255]))
  stream.push(null)
  const chunks: Buffer[] = []
  for await (const chunk of stream.on('data', chunk => chunks.push(chunk))) void chunk
  expect(chunks.length).toBeLessThan(100)
  expect(Buffer.concat(chunks)).toEqual(Buffer.from(Uint8Array.from({ length: 60_000 }, (_, i) => i & 255)))
})

test('applies backpressure when the buffer is full', () => {
  const stream = joined()
  let sent = 0
  while (stream.push(Buffer.from('x'))) sent++
  expect(sent).toBe(64 * 1024 - 1)
})

const STEPS = fc.array(
  fc.oneof(
    fc.record({
      step: fc.constant('frames' as const),
      size: fc.integer({ min: 1, max: 3000 }),
      count: fc.integer({ min: 1, max: 200 }),
    }),
    fc.record({ step: fc.constantFrom('resume' as const, 'pause' as const, 'turn' as const) }),
  ),
  { maxLength: 30 },
)

test('bytes and their order are preserved however the reader pauses', async () => {
  await fc.assert(
    fc.asyncProperty(STEPS, async steps => {
      const stream = joined()
      let [sent, got] = ['', '']
      stream.on('data', chunk => {
        got += chunk.toString('latin1')
      })
      let next = 0
      for (const each of steps) {
        if (each.step === 'turn') await turnOver()
        else if (each.step !== 'frames') stream[each.step]()
        else {
          for (let i = 0; i < each.count; i++) {
            const text = String.fromCharCode(33 + (next++ % 90)).repeat(each.size)
            sent += text
            stream.push(Buffer.from(text))
          }
        }
      }
      const ended = new Promise(resolve => stream.on('end', resolve))
      stream.push(null)
      stream.resume()
      await ended
      expect(got === sent).toBe(true)
    }),
    { numRuns: 200 },
  )
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../src/http/errors.ts'
import { encodeSse, type SseEvent, SseReader } from '../../src/http/sse.ts'

function read(chunks: readonly Buffer[], limit = 1000): { event: string; data: string; id: string | undefined }[] {
  const events: SseEvent[] = []
  const reader = new SseReader(limit, event => events.push(event))
  for (const chunk of chunks) reader.push(chunk)
  return events.map(({ event, data, id }) => ({ event, data: data.toString(), id }))
}
const one = (text: string) => read([Buffer.from(text)])

test.each([
  ['a line feed', 'data: x\n\n'],
  ['CR LF', 'data: x\r\n\r\n'],
  ['a carriage return', 'data: x\r\r'],
  ['no space', 'data:x\n\n'],
  ['a byte order mark', '\ufeffdata: x\n\n'],
  ['a comment', ': hi\ndata: x\n:\n\n'],
  ['an unknown field', 'retry: 5\nfoo\ndata: x\n\n'],
])('reads an event with %s', (_what, text) => {
  expect(one(text)).toEqual([{ event: 'message', data: 'x', id: undefined }])
})

test('joins data lines, keeps ids and forgets event names', () => {
  expect(one('event: a\nid: 1\ndata: x\ndata\ndata:  y\n\ndata: z\n\n')).toEqual([
    { event: 'a', data: 'x\n\n y', id: '1' },
    { event: 'message', data: 'z', id: '1' },
  ])
})

test('ignores an event without data or without an end', () => {
  expect(one('event: a\nid: 1\n\ndata: x\n')).toEqual([])
})

test('parses the same however the chunks are split', () => {
  const text = 'event: é\r\ndata: {"a":"\u2028ü€😀"}\r\n\r\nid: 2\rdata: b\r\rdata: c\n\n: x\n\n'
  const bytes = Buffer.from(text)
  const whole = one(text)
  expect(whole).toHaveLength(3)
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length)), cuts => {
      const at = [0, ...cuts.sort((a, b) => a - b), bytes.length]
      expect(read(at.slice(1).map((end, i) => bytes.subarray(at[i], end)))).toEqual(whole)
    }),
  )
})

test('an endless event does not exhaust memory', () => {
  const reader = new SseReader(1000, () => {})
  reader.push(Buffer.from('data: x\n\n'))
  const push = () => reader.push(Buffer.from(`data: ${'x'.repeat(600)}\n`))
  push()
  expect(push).toThrow(GatewayError)
  const endless = new SseReader(1000, () => {})
  endless.push(Buffer.alloc(900, 97))
  expect(() => endless.push(Buffer.alloc(900, 97))).toThrow(GatewayError)
})

describe('encoded events decode to the same data', () => {
  test('for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        const data = text.toWellFormed().replaceAll(/\r\n?/g, '\n')
        expect(read([encodeSse('message', data)], 1e6)).toEqual([{ event: 'message', data, id: undefined }])
      }),
    )
  })
})

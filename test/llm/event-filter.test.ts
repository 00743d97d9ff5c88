import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { EventFilter } from '../../src/llm/event-filter.ts'
import { completions } from '../../src/llm/formats/completions/format.ts'

function filter(chunks: readonly Buffer[]): string {
  const events = new EventFilter(event => completions.isUsageEvent?.(event) === true)
  return Buffer.concat([...chunks.map(chunk => events.push(chunk)), events.end()]).toString()
}

const BEFORE = 'data: {"choices":[{"delta":{"content":"你 \\"usage\\":{"}}],"usage":null}\n\n: a comment\n\n'
const USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":1}}\n\n'
const LAST = 'data: {"choices":[{"delta":{}}],"usage":{"prompt_tokens":1}}\n\ndata: [DONE]\n\n'

describe('a stream with a usage event the client did not request', () => {
  test.each(['\n', '\r\n', '\r'])('loses only that event, however it is split (%j)', newline => {
    const to = (text: string): string => text.replaceAll('\n', newline)
    const bytes = Buffer.from(to(BEFORE + USAGE + LAST))
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20 }), at => {
        const places = [...new Set(at)].sort((a, b) => a - b)
        const chunks = [0, ...places].map((start, i) => bytes.subarray(start, places[i] ?? bytes.length))
        expect(filter(chunks)).toBe(to(BEFORE + LAST))
      }),
    )
  })

  test('is forwarded immediately up to the last complete event', () => {
    const events = new EventFilter(() => true)
    expect(events.push(Buffer.from(`${BEFORE}data: {"ch`)).toString()).toBe(BEFORE)
  })

  test('passes an event too large to hold', () => {
    const huge = `data: {"choices":[],"x":"${'x'.repeat(300_000)}"}\n\n`
    const bytes = Buffer.from(huge + USAGE + LAST)
    const chunks = Array.from({ length: Math.ceil(bytes.length / 1000) }, (_, i) =>
      bytes.subarray(i * 1000, (i + 1) * 1000),
    )
    expect(filter(chunks)).toBe(huge + LAST)
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LlmFacts } from '../../src/http/exchange.ts'
import { completions } from '../../src/llm/formats/completions/format.ts'
import { detect } from '../../src/llm/formats/detect.ts'
import type { ReplyReader } from '../../src/llm/formats/format.ts'
import { messages } from '../../src/llm/formats/messages/format.ts'
import { responses } from '../../src/llm/formats/responses/format.ts'
import { StreamScanner } from '../../src/llm/stream-scanner.ts'
import { UsageRecorder } from '../../src/llm/usage.ts'
import { processorTime } from '../helpers/processor-time.ts'

function scan(chunks: readonly Buffer[], format: ReplyReader = completions): Partial<LlmFacts> {
  const facts: LlmFacts = { provider: '', streaming: true, requestModel: '' }
  const scanner = new StreamScanner(format, new UsageRecorder(facts, format.cache))
  for (const chunk of chunks) scanner.push(chunk)
  scanner.end()
  const { provider: _p, streaming: _s, requestModel: _r, ...found } = facts
  return found
}

const event = (data: object, name?: string): string =>
  `${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`
const COMPLETION = [
  event({ model: 'gpt-4o', choices: [{ delta: { content: 'Grüße 你好 "usage":{"prompt_tokens":99}' } }], usage: null }),
  event({ model: 'gpt-4o', choices: [{ delta: { content: '🎉' } }], usage: null }),
  event({ model: 'gpt-4o', choices: [], usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 } }),
  'data: [DONE]\n\n',
].join('')
const FOUND = { responseModel: 'gpt-4o', inputTokens: 7, outputTokens: 5, totalTokens: 12 }

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [...new Set(at.map(n => n % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...places].map((start, i) => bytes.subarray(start, places[i] ?? bytes.length))
}

describe('usage in a stream', () => {
  test.each([
    ['\n', 'line feeds'],
    ['\r\n', 'CRLF'],
    ['\r', 'carriage returns'],
  ])('is found however the chunks are split (%j)', newline => {
    const bytes = Buffer.from(COMPLETION.replaceAll('\n', newline))
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 30 }), at => {
        expect(scan(cut(bytes, at))).toEqual(FOUND)
      }),
      { numRuns: 200 },
    )
    expect(scan([...bytes].map(byte => Buffer.from([byte])))).toEqual(FOUND)
  })

  test('is found in an event without a blank line, or with several data lines', () => {
    expect(scan([Buffer.from('data:{"usage":{"prompt_tokens":3}}')])).toMatchObject({ inputTokens: 3 })
    expect(scan([Buffer.from(': hi\nid: 1\ndata: {"usage":\ndata:  {"prompt_tokens":4}}\n\n')])).toMatchObject({
      inputTokens: 4,
    })
  })

  test.each([
    ['broken JSON', 'data: {"usage":{"prompt_tokens":3\n\n'],
    ['invalid counts', 'data: {"usage":{"prompt_tokens":-1,"completion_tokens":"5","total_tokens":1e99}}\n\n'],
    ['usage that is not an object', 'data: {"usage":[1]}\n\ndata: {"usage":7}\n\n'],
    ['a body that is not a stream', '<html>"usage":{</html>'],
  ])('is empty for %s', (_name, text) => {
    expect(scan([Buffer.from(text)])).toEqual({})
  })

  test('is updated continuously, so an early disconnect still counts', () => {
    const facts: LlmFacts = { provider: '', streaming: true, requestModel: '' }
    const scanner = new StreamScanner(messages, new UsageRecorder(facts, messages.cache))
    const start = { type: 'message_start', message: { model: 'claude', usage: { input_tokens: 9, output_tokens: 1 } } }
    scanner.push(Buffer.from(event(start, 'message_start')))
    expect(facts).toMatchObject({ inputTokens: 9, outputTokens: 1, totalTokens: 10, responseModel: 'claude' })
  })

  test('is assembled from the parts of a messages stream, including cached input', () => {
    const usage = { input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 1 }
    const text =
      event({ type: 'message_start', message: { model: 'claude', usage } }, 'message_start') +
      event({ type: 'message_delta', delta: {}, usage: { output_tokens: 42 } }, 'message_delta')
    const found = {
      responseModel: 'claude',
      inputTokens: 130,
      outputTokens: 42,
      totalTokens: 172,
      cachedInputTokens: 100,
      cacheCreationInputTokens: 20,
    }
    expect(scan([Buffer.from(text)], messages)).toEqual(found)
  })

  test('is found in the last event of a responses stream, also with detection', () => {
    const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 7, output_tokens_details: { reasoning_tokens: 2 } }
    const text =
      event({ type: 'response.created', response: { model: 'gpt-5', usage: null } }) +
      event({ type: 'response.completed', response: { model: 'gpt-5', usage } })
    const found = { responseModel: 'gpt-5', inputTokens: 3, outputTokens: 4, totalTokens: 7, reasoningTokens: 2 }
    expect(scan([Buffer.from(text)], responses)).toEqual(found)
    expect(scan([Buffer.from(text)], detect)).toEqual(found)
  })

  test('is found after an event of many megabytes, in bounded memory', () => {
    const filler = Buffer.alloc(64 * 1024, 'a')
    const facts: LlmFacts = { provider: '', streaming: true, requestModel: '' }
    const scanner = new StreamScanner(completions, new UsageRecorder(facts, 'included'))
    const before = process.memoryUsage().arrayBuffers
    scanner.push(Buffer.from('data: "'))
    let most = 0
    for (let i = 0; i < 500; i++) {
      scanner.push(filler)
      most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    }
    scanner.push(Buffer.from(`"\n`))
    scanner.push(Buffer.from(`\n${COMPLETION}`))
    expect(facts).toMatchObject({ inputTokens: 7 })
    expect(most).toBeLessThan(8 * 1024 * 1024)
  })

  test('takes linear time even for a hostile stream of single bytes', () => {
    const byte = Buffer.from('a')
    const facts: LlmFacts = { provider: '', streaming: true, requestModel: '' }
    const scanner = new StreamScanner(completions, new UsageRecorder(facts, 'included'))
    const took = processorTime(() => {
      for (let i = 0; i < 300_000; i++) scanner.push(byte)
    })
    expect(took).toBeLessThan(5000)
  })
})

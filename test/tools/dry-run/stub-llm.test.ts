import { describe, expect, it } from 'vitest'
import { HeaderList } from '../../../src/http/headers.ts'
import { formatOf } from '../../../src/llm/formats/index.ts'
import type { RouteType } from '../../../src/llm/route-type.ts'
import { modelReply } from '../../../src/tools/dry-run/stub-llm.ts'

function asked(path: string, value: unknown) {
  const target = { key: '', host: 'h', port: 80, connectTimeout: 0, named: true }
  const call = {
    target,
    method: 'POST',
    path,
    authority: 'h',
    headers: new HeaderList(),
    body: Buffer.from(JSON.stringify(value) ?? 'none'),
  }
  return modelReply({ text: 'said', inputTokens: 7, outputTokens: 3 }, call)
}

/** The JSON of a whole answer, or that of each event. */
function messages({ body = '' }: ReturnType<typeof asked>): unknown[] {
  const text = body.toString()
  if (text.startsWith('{')) return [JSON.parse(text)]
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json as string))
}

describe('a model stub responds in the format of the call', () => {
  it.each<[RouteType, string, unknown]>([
    ['completions', '/v1/chat/completions?x=1', { model: 'm', messages: [] }],
    ['completions', '/v1/chat/completions', { model: 'm', stream: true, stream_options: { include_usage: true } }],
    ['messages', '/v1/messages', { model: 'm' }],
    ['messages', '/v1/messages', { model: 'm', stream: true }],
    ['responses', '/v1/responses', { model: 'm' }],
    ['responses', '/v1/responses', { model: 'm', stream: true }],
    ['embeddings', '/v1/embeddings', { model: 'm', input: 'x' }],
    ['anthropicTokenCount', '/v1/messages/count_tokens', { model: 'm' }],
  ])('%s at %s with %j', (route, path, body) => {
    const format = formatOf(route)
    const found = messages(asked(path, body))
    const usages = found.map(each => format?.usage(each)).filter(usage => usage !== undefined)
    const usage = Object.assign({}, ...usages.map(each => JSON.parse(JSON.stringify(each))))
    expect(usage.input ?? usage.counted).toBe(7)
    if (route !== 'embeddings' && route !== 'anthropicTokenCount') {
      expect(usage.output).toBe(3)
      expect(JSON.stringify(found)).toContain('"said"')
    }
    if (route !== 'anthropicTokenCount') expect(found.map(each => format?.model(each))).toContain('m')
  })

  it('responds to a body that is not JSON', () => {
    const call = asked('/v1/chat/completions', undefined)
    expect(messages(call)).toMatchObject([{ model: 'stub' }])
  })
})

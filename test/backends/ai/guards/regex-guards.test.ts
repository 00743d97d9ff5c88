import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { arrange, type Format, PATHS, PROVIDERS, replyOf, requestOf, streamOf, textIn } from './conversations.ts'

const SSN = '123-45-6789'

const BOTH =
  '{ streaming: Enabled, request: [{ regex: { rules: [{ builtin: ssn }] } }], response: [{ regex: { rules: [{ builtin: ssn }] } }] }'
const FORMATS = Object.keys(PATHS) as Format[]

describe.each(FORMATS)('a regex guard for %s', format => {
  test('masks the request and the complete reply', async () => {
    await using at = await arrange(BOTH, PROVIDERS[format])
    at.upstream.answer((_req, res) => {
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify(replyOf(format, `yours is ${SSN}.`)))
    })
    const reply = await at.post(PATHS[format], requestOf(format, `mine is ${SSN}.`))
    const text = await reply.text()
    expect([reply.status, text]).toEqual([200, expect.stringContaining('yours is <SSN>.')])
    expect(Number(reply.headers.get('content-length'))).toBe(Buffer.byteLength(text))
    expect(at.upstream.seen[0]?.body).toContain('mine is <SSN>.')
    expect(at.upstream.seen[0]?.body).not.toContain(SSN)
  })

  test('masks a stream wherever the matched text is split', async () => {
    const text = `a ${SSN}, b 123-45-678, c ${SSN}`
    const masked = 'a <SSN>, b 123-45-678, c <SSN>'
    await using at = await arrange(BOTH, PROVIDERS[format])
    for (let cut = 0; cut <= text.length; cut++) {
      at.upstream.answer((_req, res) => {
        res.setHeader('content-type', 'text/event-stream')
        res.end(streamOf(format, [text.slice(0, cut), text.slice(cut)].filter(Boolean)))
      })
      const path = PATHS[format].replace(':generateContent', ':streamGenerateContent?alt=sse')
      const reply = await at.post(path, {
        ...requestOf(format, 'hi'),
        ...(format === 'generateContent' ? {} : { stream: true }),
      })
      const stream = await reply.text()
      const { said, repeated } = textIn(format, stream)
      expect([cut, said]).toEqual([cut, masked])
      expect(repeated.filter(each => each !== masked)).toEqual([])
      expect(stream).not.toContain(SSN)
      if (format === 'completions') expect(stream.endsWith('data: [DONE]\n\n')).toBe(true)
    }
  })
})

test('stream bytes may arrive in any chunks', async () => {
  await using at = await arrange(BOTH)
  const bytes = Buffer.from(streamOf('completions', ['héllo 123-', '45-6789 ', 'wörld']))
  for (let cut = 1; cut < bytes.length; cut += 7) {
    at.upstream.answer((_req, res) => {
      res.setHeader('content-type', 'text/event-stream')
      res.write(bytes.subarray(0, cut), () => res.end(bytes.subarray(cut)))
    })
    const reply = await at.post(PATHS.completions, { ...requestOf('completions', 'hi'), stream: true })
    expect(textIn('completions', await reply.text()).said).toBe('héllo <SSN> wörld')
  }
})

describe('a converted call', () => {
  test('is guarded in the client’s format', async () => {
    await using at = await arrange(BOTH, 'anthropic')
    at.upstream.answer((_req, res) => {
      res.setHeader('content-type', 'text/event-stream')
      res.end(streamOf('messages', ['it is 123-45', '-6789 ', 'ok']))
    })
    const reply = await at.post(PATHS.completions, { ...requestOf('completions', `mine ${SSN}`), stream: true })
    const stream = await reply.text()
    expect(textIn('completions', stream).said).toBe('it is <SSN> ok')
    expect(stream.endsWith('data: [DONE]\n\n')).toBe(true)
    expect(at.upstream.seen[0]?.body).toContain('mine <SSN>')
  })
})

describe('a guard that rejects', () => {
  const REJECT = `{ request: [{ regex: { action: reject, rules: [{ pattern: "se+cret", name: word }] }, rejection: { body: 'no "way"', status: 451, headers: { set: { x-why: guard } } } }] }`

  test('returns the configured response without calling the provider', async () => {
    await using at = await arrange(REJECT)
    const reply = await at.post(PATHS.completions, requestOf('completions', 'a seeecret'))
    expect([reply.status, await reply.text()]).toEqual([451, 'no "way"'])
    expect([reply.headers.get('x-why'), reply.headers.get('content-type')]).toEqual(['guard', null])
    expect(at.upstream.seen).toEqual([])
    expect((await at.post(PATHS.completions, requestOf('completions', 'fine'))).status).toBe(200)
  })

  test('has a default response', async () => {
    await using at = await arrange('{ request: [{ regex: { action: reject, rules: [{ builtin: email }] } }] }')
    const reply = await at.post(PATHS.completions, requestOf('completions', 'joe@example.com'))
    expect([reply.status, await reply.text()]).toEqual([403, 'The request was rejected due to inappropriate content'])
  })

  const EVASIONS: Record<string, unknown> = {
    'an escape': '{"model":"m","messages":[{"role":"user","content":"\\u0073ecret"}]}',
    'an escaped key': '{"model":"m","messages":[{"role":"user","\\u0063ontent":"secret"}]}',
    'parts that split it': {
      model: 'm',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'sec' },
            { type: 'text', text: 'ret' },
          ],
        },
      ],
    },
    'a part of an unknown type': {
      model: 'm',
      messages: [{ role: 'user', content: [{ type: 'textual', inner: [{ words: 'secret' }] }] }],
    },
    'content of another shape': { model: 'm', messages: [{ role: 'user', content: { text: 'secret' } }] },
    'a message that is a string': { model: 'm', messages: ['secret'] },
    'the system prompt': { model: 'm', messages: [{ role: 'developer', content: 'secret' }] },
    'a member that the format does not know': { model: 'm', messages: [], documents: [{ text: 'secret' }] },
    'a prediction': { model: 'm', messages: [], prediction: { type: 'content', content: 'secret' } },
    'a compressed body': undefined,
  }
  test.each(Object.entries(EVASIONS))('is not bypassed by %s', async (name, body) => {
    await using at = await arrange(REJECT)
    if (name === 'a compressed body') {
      const { gzipSync } = await import('node:zlib')
      const reply = await fetch(new URL(PATHS.completions, (await at.post('/v1/models', {})).url), {
        method: 'POST',
        body: gzipSync(JSON.stringify(requestOf('completions', 'secret'))),
        headers: { 'content-encoding': 'gzip' },
      })
      expect(reply.status).toBe(451)
      return
    }
    expect((await at.post(PATHS.completions, body)).status).toBe(451)
    expect(at.upstream.seen).toEqual([])
  })

  test('reads a duplicate key the way the provider will', async () => {
    await using at = await arrange(REJECT)
    const twice = '{"model":"m","messages":[{"role":"user","content":"secret","content":"fine"}]}'
    expect((await at.post(PATHS.completions, twice)).status).toBe(200)
    expect(at.upstream.seen[0]?.body).not.toContain('secret')
  })
})

describe('scope', () => {
  const request = {
    model: 'm',
    messages: [
      { role: 'system', content: `s ${SSN}` },
      { role: 'user', content: `u ${SSN}` },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: `{"ssn":"${SSN}"}` } }],
      },
      { role: 'tool', tool_call_id: 'c', content: `t ${SSN}` },
    ],
  }
  const send = async (scope: string) => {
    await using at = await arrange(`{ request: [{ regex: { rules: [{ builtin: ssn }] }${scope} }] }`)
    await at.post(PATHS.completions, request)
    return JSON.parse(at.upstream.seen[0]?.body ?? '').messages as (typeof request)['messages']
  }
  const masked = (messages: (typeof request)['messages']) =>
    messages.map(each => JSON.stringify(each).includes('<SSN>'))

  test('defaults to the system prompt and the messages', async () => {
    expect(masked(await send(''))).toEqual([true, true, false, false])
  })
  test('can include tool calls and their results', async () => {
    expect(masked(await send(', scope: [toolInput, toolOutput]'))).toEqual([false, false, true, true])
  })
  test('of a reply can include tool call arguments', async () => {
    await using at = await arrange('{ response: [{ regex: { rules: [{ builtin: ssn }] }, scope: [toolInput] }] }')
    at.upstream.answer((_req, res) => {
      res.setHeader('content-type', 'application/json')
      const message = { role: 'assistant', content: SSN, tool_calls: request.messages[2]?.tool_calls }
      res.end(JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }))
    })
    const { choices } = (await (await at.post(PATHS.completions, requestOf('completions', 'hi'))).json()) as {
      choices: { message: (typeof request)['messages'][0] }[]
    }
    expect(choices[0]?.message.content).toBe(SSN)
    expect(JSON.stringify(choices[0]?.message.tool_calls)).toContain('<SSN>')
  })
})

test('numbers too large for a double survive masking elsewhere in the body', async () => {
  await using at = await arrange('{ request: [{ regex: { rules: [{ builtin: ssn }] } }] }', 'anthropic')
  const body = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"${SSN}"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{"key":12345678901234567890}}]}]}`
  await at.post(PATHS.messages, body)
  expect(at.upstream.seen[0]?.body).toContain('"key":12345678901234567890')
  expect(at.upstream.seen[0]?.body).toContain('<SSN>')
})

test('removes a content part left empty by masking', async () => {
  await using at = await arrange('{ request: [{ regex: { rules: [{ builtin: ssn }] } }] }')
  const content = ['123-45', '-6789'].map(text => ({ type: 'text', text }))
  await at.post(PATHS.completions, { model: 'm', messages: [{ role: 'user', content }] })
  expect(JSON.parse(at.upstream.seen[0]?.body ?? '').messages[0].content).toEqual([{ type: 'text', text: '<SSN>' }])
})

test('requests of a kind that no guard reads pass, as the documentation says', async () => {
  await using at = await arrange(BOTH, 'openAI')
  at.upstream.answer((_req, res) => {
    res.end('{}')
  })
  const reply = await at.post('/v1/responses/compact', { model: 'm', input: SSN })
  expect([reply.status, at.upstream.seen[0]?.body]).toEqual([200, expect.stringContaining(SSN)])
  const documented = readFileSync(new URL('../../../../docs/guards.md', import.meta.url), 'utf8')
  expect(documented).toMatch(/Not checked: .*`detect` and `passthrough`/)
})

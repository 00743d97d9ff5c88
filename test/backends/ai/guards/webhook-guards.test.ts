import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { TraceEvent } from '../../../../src/trace/trace-event.ts'
import { arrange, type Format, PATHS, PROVIDERS, requestOf, says, textIn } from './conversations.ts'

interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: the body is looked into by its fields
  readonly body: any
}

/** A guard service that answers what `decide` gives: text as it is, everything else as JSON. */
async function startHook(decide: (asked: Asked) => unknown, status = 200) {
  const seen: Asked[] = []
  const server = createServer((req, res) => {
    let text = ''
    req.on('data', chunk => {
      text += chunk
    })
    req.on('end', () => {
      const asked = { method: req.method ?? '', path: req.url ?? '', headers: req.headers, body: JSON.parse(text).body }
      seen.push(asked)
      const answer = decide(asked)
      if (answer === undefined) return
      res.statusCode = status
      res.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
}

const pass = { action: { reason: 'fine' } }
const both = (host: string, more = ''): string =>
  `{ streaming: Enabled, request: [{ webhook: { target: { host: "${host}" }${more} } }], response: [{ webhook: { target: { host: "${host}" }${more} } }] }`
const onRequest = (host: string, more = ''): string =>
  `{ request: [{ webhook: { target: { host: "${host}" }${more} }, rejection: { body: unused, status: 418 } }] }`

/** Masks every `bad` that it is told. */
function masking({ path, body }: Asked): unknown {
  const mask = (message: { role: string; content: string }) => ({
    ...message,
    content: message.content.replaceAll('bad', '***'),
  })
  return {
    action: {
      body:
        path === '/request'
          ? { messages: body.messages.map(mask) }
          : {
              choices: body.choices.map(({ message }: { message: { role: string; content: string } }) => ({
                message: mask(message),
              })),
            },
    },
  }
}

describe('a webhook', () => {
  test('receives the messages and the choices, as in the public system', async () => {
    await using hook = await startHook(() => pass)
    await using at = await arrange(both(hook.host))
    says(at.upstream, 'completions', 'said')
    const content = ['a', 'b'].map(text => ({ type: 'text', text }))
    const messages = [
      { role: 'system', content: 'sys' },
      { role: 'user', content: [content[0], { type: 'image_url', image_url: { url: 'https://x/y' } }, content[1]] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'result' },
    ]
    const reply = await at.post(
      PATHS.completions,
      { model: 'm', messages },
      { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
    )
    expect(reply.status).toBe(200)
    expect(hook.seen.map(({ method, path, body }) => [method, path, body])).toEqual([
      [
        'POST',
        '/request',
        {
          messages: [
            { role: 'system', content: 'sys' },
            { role: 'user', content: 'a b' },
            { role: 'assistant', content: '' },
            { role: 'tool', content: 'result' },
          ],
        },
      ],
      ['POST', '/response', { choices: [{ message: { role: 'assistant', content: 'said' } }] }],
    ])
    expect(hook.seen[0]?.headers['content-type']).toBe('application/json')
    expect(hook.seen[0]?.headers.traceparent).toContain('0af7651916cd43dd8448eb211c80319c')
  })

  test('responds in place of the provider when it rejects', async () => {
    await using hook = await startHook(() => ({
      action: { body: 'not here', status_code: 451, reason: 'secret reason' },
    }))
    await using at = await arrange(onRequest(hook.host))
    const reply = await at.post(PATHS.completions, requestOf('completions', 'hi'))
    expect([reply.status, await reply.text(), reply.headers.get('content-type')]).toEqual([451, 'not here', null])
    expect(at.upstream.seen).toEqual([])
  })

  test('masks in place and keeps non-text parts', async () => {
    await using hook = await startHook(masking)
    await using at = await arrange(onRequest(hook.host))
    const image = { type: 'image_url', image_url: { url: 'https://x/y' } }
    const content = [
      { type: 'text', text: 'good' },
      image,
      { type: 'text', text: 'a bad word' },
      { type: 'text', text: 'end' },
    ]
    await at.post(PATHS.completions, { model: 'm', messages: [{ role: 'user', content }] })
    expect(JSON.parse(at.upstream.seen[0]?.body ?? '').messages[0].content).toEqual([
      content[0],
      image,
      { type: 'text', text: 'a *** word' },
      content[3],
    ])
  })

  test('receives the configured header fields', async () => {
    await using hook = await startHook(() => pass)
    const headers = `, headers: { ":path": '"/check?m=" + llmRequest.model', ":method": '"PUT"', ":authority": '"guards.test"', x-team: 'request.headers["x-team"]', x-none: 'request.headers["none"]' }, forwardHeaderMatches: [{ name: x-user, value: { exact: joe } }, { name: x-pattern, value: { regex: "a+" } }, { name: content-length }]`
    await using at = await arrange(onRequest(hook.host, headers))
    const sent = { 'x-team': 'red', 'x-user': 'joe', 'x-pattern': 'aaa', 'x-other': 'no' }
    expect((await at.post(PATHS.completions, requestOf('completions', 'hi'), sent)).status).toBe(200)
    const [asked] = hook.seen
    expect([asked?.method, asked?.path]).toEqual(['PUT', '/check?m=m'])
    expect(asked?.headers).toMatchObject({ host: 'guards.test', 'x-team': 'red', 'x-user': 'joe', 'x-pattern': 'aaa' })
    expect(asked?.headers).not.toHaveProperty('x-none')
    expect(asked?.headers).not.toHaveProperty('x-other')
  })

  test('keeps the default path when the expression has no value', async () => {
    await using hook = await startHook(() => pass)
    await using at = await arrange(onRequest(hook.host, `, headers: { ":path": 'request.headers["none"]' }`))
    await at.post(PATHS.completions, requestOf('completions', 'hi'))
    expect(hook.seen[0]?.path).toBe('/request')
  })

  test('can be a named backend', async () => {
    await using hook = await startHook(() => pass)
    const named = `{ request: [{ webhook: { target: { backend: "/hook" } } }] }`
    await using at = await arrange(named, 'openAI', {}, `backends: [{ name: hook, host: "${hook.host}" }]`)
    expect((await at.post(PATHS.completions, requestOf('completions', 'hi'))).status).toBe(200)
    expect(hook.seen).toHaveLength(1)
  })

  test('only records its decision in audit mode', async () => {
    await using hook = await startHook(() => ({ action: { body: 'no', status_code: 403, reason: 'why' } }))
    await using at = await arrange(onRequest(hook.host, ', action: audit'))
    expect((await at.post(PATHS.completions, requestOf('completions', 'hi'))).status).toBe(200)
    expect(hook.seen).toHaveLength(1)
  })
})

describe('a guard decision', () => {
  const reject = { action: { body: 'no', status_code: 403, reason: 'why' } }
  const mask = masking({ path: '/request', body: { messages: [{ role: 'user', content: 'bad' }] } } as Asked)
  const OUTCOMES: [action: string, counted: string, answer: unknown, more: string, status: number, told: object][] = [
    ['allow', 'Allow', pass, '', 200, {}],
    ['mask', 'Mask', mask, '', 200, {}],
    ['reject', 'Reject', reject, '', 403, { reason: 'why' }],
    ['audit', 'Audit', reject, ', action: audit', 200, { would: 'reject', reason: 'why' }],
    ['failOpen', 'FailOpen', '<html>', ', failureMode: failOpen', 200, { error: expect.any(String) }],
    ['fail', 'Fail', '<html>', '', 503, { error: expect.any(String) }],
  ]
  test.each(OUTCOMES)('is traced as %s and counted as %s', async (action, counted, answer, more, status, told) => {
    await using hook = await startHook(() => answer)
    await using at = await arrange(onRequest(hook.host, more))
    says(at.upstream, 'completions', 'hello')
    const watch = at.engine.trace.watch({ requests: 1 })
    if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
    expect((await at.post(PATHS.completions, requestOf('completions', 'bad'))).status).toBe(status)
    const events: TraceEvent[] = []
    await expect
      .poll(() => {
        for (let event = watch.next(); event; event = watch.next()) events.push(event)
        return watch.finished
      })
      .toBe(true)
    watch.close()
    const decided = events.filter(({ message }) => message.type === 'guard')
    expect(decided.map(({ message }) => message)).toEqual([
      { type: 'guard', guard: 'webhook', phase: 'request', action, duration: expect.any(Number), ...told },
    ])
    expect(JSON.stringify(decided)).not.toContain('bad')
    expect(at.engine.gateway.metrics.render()).toMatch(
      new RegExp(`agentgateway_guardrail_checks_total\\{[^}]*action="${counted}"[^}]*\\} 1`),
    )
  })
})

describe('a webhook without a usable answer', () => {
  const ANSWERS: Record<string, [answer: unknown, status?: number]> = {
    'no JSON': ['<html>'],
    'no action': [{}],
    'an action that is no object': [{ action: 'pass' }],
    'a rejection without a status': [{ action: { body: 'x' } }],
    'a rejection with a bad status': [{ action: { body: 'x', status_code: 99 } }],
    'a status of failure': [pass, 500],
  }
  test.each(Object.entries(ANSWERS))('fails closed, or open if configured: %s', async (_name, [answer, status]) => {
    await using hook = await startHook(() => answer, status)
    await using closed = await arrange(onRequest(hook.host))
    const reply = await closed.post(PATHS.completions, requestOf('completions', 'hi'))
    expect([reply.status, (await reply.json()) as unknown]).toMatchObject([
      503,
      { error: { message: 'prompt guard failed' } },
    ])
    expect(closed.upstream.seen).toEqual([])
    await using open = await arrange(onRequest(hook.host, ', failureMode: failOpen'))
    expect((await open.post(PATHS.completions, requestOf('completions', 'hi'))).status).toBe(200)
    await using audit = await arrange(onRequest(hook.host, ', action: audit'))
    expect((await audit.post(PATHS.completions, requestOf('completions', 'hi'))).status).toBe(503)
  })

  test('fails when it is unreachable or times out', async () => {
    await using nobody = await arrange(onRequest('127.0.0.1:1'))
    expect((await nobody.post(PATHS.completions, requestOf('completions', 'hi'))).status).toBe(503)
    await using silent = await startHook(() => undefined)
    const target = `{ host: "${silent.host}", policies: { http: { requestTimeout: 20ms } } }`
    await using slow = await arrange(`{ request: [{ webhook: { target: ${target} } }] }`)
    expect((await slow.post(PATHS.completions, requestOf('completions', 'hi'))).status).toBe(503)
  })

  test('fails even with failOpen when its mask does not match the messages it received', async () => {
    await using hook = await startHook(() => ({ action: { body: { messages: [] } } }))
    await using at = await arrange(onRequest(hook.host, ', failureMode: failOpen'))
    expect((await at.post(PATHS.completions, requestOf('completions', 'hi'))).status).toBe(503)
  })
})

const FORMATS = Object.keys(PATHS) as Format[]
const ask = (format: Format) =>
  format === 'generateContent' ? '/v1beta/models/m:streamGenerateContent?alt=sse' : PATHS[format]
const streaming = (format: Format) => ({
  ...requestOf(format, 'hi'),
  ...(format === 'generateContent' ? {} : { stream: true }),
})

describe.each(FORMATS)('a webhook for %s', format => {
  test('masks the request, the reply and a stream', async () => {
    await using hook = await startHook(masking)
    await using at = await arrange(both(hook.host), PROVIDERS[format])
    says(at.upstream, format, 'so b', 'ad, ', 'so ba', 'd')
    const whole = await at.post(PATHS[format], requestOf(format, 'a bad day'))
    expect(await whole.text()).toContain('so ***, so ***')
    expect(at.upstream.seen[0]?.body).toContain('a *** day')
    const { said, repeated } = textIn(format, await (await at.post(ask(format), streaming(format))).text())
    expect(said).toBe('so ***, so ***')
    expect(repeated.filter(text => text !== said)).toEqual([])
  })

  test('masks across window boundaries', async () => {
    await using hook = await startHook(masking)
    await using at = await arrange(both(hook.host), PROVIDERS[format])
    const text = 'x'.repeat(1022) + 'bad'.repeat(300) + 'y'.repeat(700)
    says(at.upstream, format, ...(text.match(/.{1,97}/g) ?? []))
    const { said } = textIn(format, await (await at.post(ask(format), streaming(format))).text())
    expect(said).toBe(text.replaceAll('bad', '***'))
    expect(hook.seen.length).toBeGreaterThan(2)
  })

  test('ends a rejected stream with an error in the client’s format', async () => {
    await using hook = await startHook(({ path, body }) =>
      path === '/response' && JSON.stringify(body).includes('evil')
        ? { action: { body: 'stop it', status_code: 451 } }
        : pass,
    )
    await using at = await arrange(both(hook.host), PROVIDERS[format])
    says(at.upstream, format, 'evil at once')
    const first = await at.post(ask(format), streaming(format))
    expect([first.status, await first.text()]).toEqual([451, 'stop it'])
    says(at.upstream, format, 'g'.repeat(2000), 'h'.repeat(400), 'evil', ' more')
    const later = await at.post(ask(format), streaming(format))
    const stream = await later.text()
    expect(later.status).toBe(200)
    expect(stream).not.toContain('evil')
    expect(stream).not.toContain('[DONE]')
    const last = JSON.parse(stream.trim().split('data: ').at(-1) ?? '')
    expect(JSON.stringify(last)).toContain('stop it')
    expect(format === 'responses' ? last.type : Object.keys(last).includes('error')).toBe(
      format === 'responses' ? 'error' : true,
    )
  })

  test('rejects a stream in which another guard has masked, and both count', async () => {
    await using hook = await startHook(({ path, body }) =>
      path === '/response' && JSON.stringify(body).includes('evil')
        ? { action: { body: 'no', status_code: 403 } }
        : pass,
    )
    const guards = `[{ regex: { rules: [{ builtin: ssn }] } }, { webhook: { target: { host: "${hook.host}" } } }]`
    await using at = await arrange(`{ streaming: Enabled, response: ${guards} }`, PROVIDERS[format])
    says(at.upstream, format, 'mine is 123-45-6789, ', 'evil', ' more')
    expect((await at.post(ask(format), streaming(format))).status).toBe(403)
    const metrics = at.engine.gateway.metrics.render()
    for (const action of ['Mask', 'Reject'])
      expect(metrics).toMatch(new RegExp(`agentgateway_guardrail_checks_total\\{[^}]*action="${action}"[^}]*\\} 1`))
  })

  test('fails closed mid-stream', async () => {
    let calls = 0
    await using hook = await startHook(({ path }) => (path === '/response' && ++calls > 1 ? '<broken>' : pass))
    await using at = await arrange(both(hook.host), PROVIDERS[format])
    says(at.upstream, format, 'g'.repeat(2000), 'tail')
    const stream = await (await at.post(ask(format), streaming(format))).text()
    expect(stream).not.toContain('tail')
    expect(stream).toContain('the reply could not be checked')
  })
})

import { afterEach, expect, test } from 'vitest'
import { startGateway } from './gateway.ts'
import { PENDING, startScript } from './scripted-server.ts'
import { begin, post } from './wire.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const LISTS: Readonly<Record<string, object>> = {
  'tools/list': { tools: [{ name: 'hidden' }, { name: 'free' }] },
  'prompts/list': { prompts: [{ name: 'hidden' }, { name: 'free' }] },
  'resources/list': { resources: [{ uri: 'x://hidden', name: 'h' }] },
  'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'x://hidden/{id}', name: 'h' }] },
}
const NOT_FOUND = JSON.stringify({ jsonrpc: '2.0', id: 2, error: { code: -32002, message: 'gone', data: {} } })

async function setUp(targets: number) {
  const up = await startScript(({ method = '', params = {} }, res) => {
    if (method in LISTS) return LISTS[method]
    if (method === 'resources/subscribe') return {}
    if (params.uri === 'x://free') return { contents: [], cacheScope: 'public', ttlMs: 9 }
    if (!method.startsWith('resources/')) return { content: [{ type: 'text', text: `${params.name}` }] }
    res.writeHead(200, { 'content-type': 'application/json' }).end(NOT_FOUND)
    return undefined
  })
  const names = ['a', 'b'].slice(0, targets)
  const rules = [{ allows: (_x: unknown, { name }: { readonly name: string }) => !name.includes('hidden') }]
  const gateway = await startGateway(
    { targets: names.map(name => ({ name, mcp: { host: up.url } })) },
    { rules: rules as never },
  )
  closing.push(
    () => up.close(),
    () => gateway.close(),
  )
  const session = { 'mcp-session-id': await begin(gateway.url) }
  const ask = async (method: string, params: object) => {
    const before = up.received.length
    const { status, headers, text } = await post(gateway.url, { jsonrpc: '2.0', id: 2, method, params }, session)
    const fields = [...headers].filter(([name]) => name !== 'date')
    return { answer: [status, ...fields.flat(), text.replace(/^id: .*$/m, '')], asked: up.received.length - before }
  }
  return { ask, received: up.received, name: targets === 1 ? '' : 'b_', uri: targets === 1 ? '' : 'b+' }
}

test.each([1, 2])('items hidden by rules are indistinguishable from missing ones, with %d targets', async targets => {
  const { ask, received, name, uri } = await setUp(targets)
  const ref = (type: string, what: object) => ({ ref: { type, ...what }, argument: { name: 'x', value: '' } })
  const cases: [string, (word: string) => object, number?][] = [
    // The target lets clients subscribe to whatever they name, but lets go only of what it has.
    ['resources/subscribe', word => ({ uri: `${uri}x://${word}` }), 200],
    ['resources/unsubscribe', word => ({ uri: `${uri}x://${word}` })],
    ['tools/call', word => ({ name: name + word })],
    ['prompts/get', word => ({ name: name + word })],
    ['resources/read', word => ({ uri: `${uri}x://${word}` })],
    ['completion/complete', word => ref('ref/prompt', { name: name + word })],
    ['completion/complete', word => ref('ref/resource', { uri: `${uri}x://${word}/{id}` })],
  ]
  for (const [method, params, status = 400] of cases) {
    const hidden = await ask(method, params('hidden'))
    const missing = await ask(method, params('nobody'))
    expect(hidden.answer[0], method).toBe(status)
    // As many questions to the target: neither is answered sooner.
    expect(JSON.parse(JSON.stringify(missing).replaceAll('nobody', 'hidden')), method).toEqual(hidden)
  }
  expect(received.filter(({ text }) => text.includes('subscribe') && text.includes('x://hidden"'))).toEqual([])
  const used = await ask('tools/call', { name: `${name}free` })
  expect([used.answer[0], used.answer.at(-1)]).toEqual([200, expect.stringContaining('"free"')])
  // Who else may read it, rules say.
  const kept = await ask('resources/read', { uri: `${uri}x://free` })
  expect(kept.answer.at(-1)).toContain('"cacheScope":"private","ttlMs":0')
  // Its list is known now.
  expect((await ask('tools/call', { name: `${name}free` })).asked).toBe(1)
})

test('a rejected call keeps its own status however long the list takes', async () => {
  let list = (): unknown => undefined
  const up = await startScript(({ id, method }, res) => {
    if (method !== 'tools/list') return undefined
    list = () =>
      res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [] } }))
    return PENDING
  })
  const gateway = await startGateway(
    { targets: ['a', 'b'].map(name => ({ name, mcp: { host: up.url } })) },
    { rules: [{ allows: () => false }] },
  )
  closing.push(
    () => up.close(),
    () => gateway.close(),
  )
  const headers = { 'mcp-session-id': await begin(gateway.url), 'mcp-protocol-version': '2025-11-25' }
  const call = post(gateway.url, { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'a_x' } }, headers)
  await expect.poll(() => up.received.some(({ text }) => text.includes('tools/list'))).toBe(true)
  gateway.clock.advance(20_000)
  list()
  expect((await call).status).toBe(400)
})

import type { ServerResponse } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { startGateway as startEngine } from '../../helpers/gateway.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { PENDING, type ScriptedServer, startScript } from './scripted-server.ts'
import { begin } from './wire.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Reports progress at once, and answers when the test says so; `stream.closed` once the caller is gone. */
async function slowServer() {
  const calls: { write(text: string): void; closed: boolean }[] = []
  const up = await startScript(
    (rpc, res, req) => {
      if (req.method === 'GET') {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
        calls.push({ write: text => res.write(text), closed: false })
        return PENDING
      }
      if (rpc.method !== 'tools/call') return undefined
      const call = { write: (text: string) => res.write(text), closed: false }
      calls.push(call)
      res.on('close', () => {
        call.closed = true
      })
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(progress(1))
      return PENDING
    },
    { session: 'up' },
  )
  closing.push(() => up.close())
  return { up, calls }
}

const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
const progress = (n: number) => event({ method: 'notifications/progress', params: { progressToken: 't', progress: n } })
const RESULT = event({ id: 9, result: { content: [] } })

const KEYED = { key: Buffer.alloc(32, 7), ttl: 60_000 }

async function setUp() {
  const { up, calls } = await slowServer()
  const other = await startScript(() => undefined)
  closing.push(() => other.close())
  const targets = [
    { name: 'a', mcp: { host: up.url } },
    { name: 'b', mcp: { host: other.url } },
  ]
  const gateway = await startGateway({ targets }, { sessions: KEYED })
  closing.push(() => gateway.close())
  return { up, calls, gateway, session: await begin(gateway.url) }
}

interface Told {
  readonly id: string | undefined
  readonly message: { readonly method?: string; readonly params?: { readonly progress?: number } }
}

function open(gateway: Pick<Gateway, 'url'>, session: string, init: { body?: object; last?: string | undefined }) {
  const abort = new AbortController()
  closing.push(async () => abort.abort())
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-session-id': session,
    ...(init.last === undefined ? {} : { 'last-event-id': init.last }),
  }
  const body = init.body === undefined ? {} : { body: JSON.stringify(init.body) }
  const told: Told[] = []
  const done = fetch(gateway.url, {
    method: init.body === undefined ? 'GET' : 'POST',
    headers,
    signal: abort.signal,
    ...body,
  }).then(async response => {
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString()
      const frames = text.split('\n\n').slice(0, -1)
      told.splice(0, told.length, ...frames.filter(frame => frame.includes('data: ')).map(read))
    }
    return response.status
  })
  done.catch(() => {})
  return { told, done, leave: () => abort.abort() }
}

function read(frame: string): Told {
  const id = /^id: (.*)$/m.exec(frame)?.[1]
  return { id, message: JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? '') }
}

const CALL = { jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'a_slow', _meta: { progressToken: 't' } } }
const executed = (up: ScriptedServer) => up.received.filter(({ text }) => text.includes('tools/call')).length
const left = (gateway: Gateway) => expect.poll(() => gateway.exchanges.some(x => x.aborted)).toBe(true)

test('resumes an interrupted reply: executed once, no events lost or repeated', async () => {
  const { up, calls, gateway, session } = await setUp()
  const first = open(gateway, session, { body: CALL })
  await expect.poll(() => first.told).toHaveLength(1)
  const last = first.told[0]?.id
  expect(last).toBeDefined()
  first.leave()
  await left(gateway)
  calls[0]?.write(progress(2))
  const second = open(gateway, session, { last })
  await expect.poll(() => second.told.map(({ message }) => message.params?.progress)).toEqual([2])
  calls[0]?.write(progress(3))
  calls[0]?.write(RESULT)
  expect(await second.done).toBe(200)
  expect(second.told.map(({ message }) => message)).toMatchObject([
    { params: { progress: 2 } },
    { params: { progress: 3 } },
    { id: 9, result: { content: [] } },
  ])
  expect(new Set([...first.told, ...second.told].map(({ id }) => id)).size).toBe(4)
  expect(executed(up)).toBe(1)
  // What has been answered can be heard again, to its end.
  const again = open(gateway, session, { last: second.told[1]?.id })
  expect(await again.done).toBe(200)
  expect(again.told).toEqual([second.told[2]])
})

test('cancels the call of a client that does not return in time', async () => {
  const { calls, gateway, session } = await setUp()
  const heard = open(gateway, session, { body: CALL })
  await expect.poll(() => heard.told).toHaveLength(1)
  heard.leave()
  await left(gateway)
  expect(calls[0]?.closed).toBe(false)
  gateway.clock.advance(5 * 60_000)
  await expect.poll(() => calls[0]?.closed).toBe(true)
})

test('an event ID that is unknown or no longer kept resumes nothing', async () => {
  const { up, calls, gateway, session } = await setUp()
  const call = open(gateway, session, { body: CALL })
  await expect.poll(() => call.told).toHaveLength(1)
  const large = progress(2).replace('"progress":2', `"progress":2,"message":"${'x'.repeat(300 * 1024)}"`)
  calls[0]?.write(large)
  await expect.poll(() => call.told).toHaveLength(2)
  for (const last of ['nonsense', '0-999999', call.told[0]?.id ?? '']) {
    const stream = open(gateway, session, { last })
    await expect.poll(() => up.received.filter(({ method }) => method === 'GET').length).toBeGreaterThan(0)
    expect(stream.told).toEqual([])
    stream.leave()
  }
  calls[0]?.write(RESULT)
  expect(await call.done).toBe(200)
  expect(call.told).toHaveLength(3)
})

test('event IDs of another session resume nothing', async () => {
  const { calls, gateway, session } = await setUp()
  const call = open(gateway, session, { body: CALL })
  await expect.poll(() => call.told).toHaveLength(1)
  call.leave()
  await left(gateway)
  calls[0]?.write(progress(2))
  const stranger = open(gateway, await begin(gateway.url), { last: call.told[0]?.id })
  await expect.poll(() => calls.length).toBe(2)
  expect(stranger.told).toEqual([])
})

test('the full gateway keeps a call running for a client that reconnects', async () => {
  const { up, calls } = await slowServer()
  const other = await startScript(() => undefined)
  closing.push(() => other.close())
  const targets = `[{name: a, mcp: {host: '${up.url}'}}, {name: b, mcp: {host: '${other.url}'}}]`
  await using engine = await startEngine(`
binds:
- port: 8080
  listeners: [{routes: [{backends: [{mcp: {targets: ${targets}}}]}]}]
`)
  const gateway = { url: new URL(`${engine.url(8080)}/mcp`) }
  const session = await begin(gateway.url)
  const first = open(gateway, session, { body: CALL })
  await expect.poll(() => first.told).toHaveLength(1)
  first.leave()
  await expect.poll(() => engine.logged.join('').includes('the client left')).toBe(true)
  calls[0]?.write(progress(2))
  calls[0]?.write(RESULT)
  const second = open(gateway, session, { last: first.told[0]?.id })
  expect(await second.done).toBe(200)
  expect(second.told.map(({ message }) => message)).toMatchObject([{ params: { progress: 2 } }, { id: 9 }])
  expect([executed(up), calls[0]?.closed]).toEqual([1, false])
})

/** Two targets. The first begins a call as `begins` says, and tells the rest of it to whoever asks for what follows. */
async function withEvents(begins: (res: ServerResponse) => void) {
  const asked: (string | undefined)[] = []
  const up = await startScript(
    (rpc, res, req) => {
      if (req.method !== 'GET' && rpc.method !== 'tools/call') return undefined
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      if (req.method === 'GET') {
        asked.push(req.headers['last-event-id'] as string | undefined)
        res.end(`id: up-2\n${progress(2)}id: up-3\n${RESULT}`)
      } else begins(res)
      return PENDING
    },
    { session: 'up' },
  )
  const other = await startScript(() => undefined)
  closing.push(
    () => up.close(),
    () => other.close(),
  )
  const targets = [
    { name: 'a', mcp: { host: up.url } },
    { name: 'b', mcp: { host: other.url } },
  ]
  return { asked, up, targets }
}

test('a call resumes on another gateway when its target keeps the events', async () => {
  const { asked, up, targets } = await withEvents(res => res.write(`id: up-1\n${progress(1)}`))
  const sessions = { key: Buffer.alloc(32, 7), ttl: 60_000 }
  const gateway = await startGateway({ targets }, { sessions })
  const replica = await startGateway({ targets }, { sessions })
  closing.push(
    () => gateway.close(),
    () => replica.close(),
  )
  const session = await begin(gateway.url)
  const first = open(gateway, session, { body: CALL })
  await expect.poll(() => first.told).toHaveLength(1)
  const last = first.told[0]?.id
  const second = open(replica, session, { last })
  expect(await second.done).toBe(200)
  expect(second.told.map(({ message }) => message)).toMatchObject([
    { params: { progress: 2 } },
    { id: 9, result: { content: [] } },
  ])
  expect(asked).toEqual(['up-1'])
  expect(executed(up)).toBe(1)
})

test('a call whose events are not kept ends with an error on another gateway', async () => {
  const { calls, gateway, session, up } = await setUp()
  const call = open(gateway, session, { body: CALL })
  await expect.poll(() => call.told).toHaveLength(1)
  const targets = [
    { name: 'a', mcp: { host: up.url } },
    { name: 'b', mcp: { host: up.url } },
  ]
  const replica = await startGateway({ targets }, { sessions: KEYED })
  closing.push(() => replica.close())
  const again = open(replica, session, { last: call.told[0]?.id })
  expect(await again.done).toBe(200)
  expect(again.told).toMatchObject([{ message: { id: 9, error: { code: -32603 } } }])
  expect(executed(up)).toBe(1)
  calls[0]?.write(RESULT)
  await call.done
})

test('the gateway resumes an interrupted target stream itself', async () => {
  const { asked, up, targets } = await withEvents(res => res.end(`id: up-1\nretry: 10\n${progress(1)}`))
  const gateway = await startGateway({ targets })
  closing.push(() => gateway.close())
  const call = open(gateway, await begin(gateway.url), { body: CALL })
  expect(await call.done).toBe(200)
  expect(call.told.map(({ message }) => message)).toMatchObject([
    { params: { progress: 1 } },
    { params: { progress: 2 } },
    { id: 9, result: { content: [] } },
  ])
  expect(asked).toEqual(['up-1'])
  expect(executed(up)).toBe(1)
})

test('a client of one target resumes only events it has received from that target', async () => {
  const { asked, targets } = await withEvents(res => res.write(`id: up-1\n${progress(1)}`))
  const gateway = await startGateway({ targets: targets.slice(0, 1) })
  closing.push(() => gateway.close())
  const session = await begin(gateway.url)
  const call = { ...CALL, params: { ...CALL.params, name: 'slow' } }
  const first = open(gateway, session, { body: call })
  await expect.poll(() => first.told).toHaveLength(1)
  const last = first.told[0]?.id
  for (const foreign of ['up-1', last?.replace('up-1', 'up-2')]) await open(gateway, session, { last: foreign }).done
  const other = await begin(gateway.url)
  await open(gateway, other, { last }).done
  expect(asked).toEqual([undefined, undefined, undefined])
  const second = open(gateway, session, { last })
  expect(await second.done).toBe(200)
  expect([asked.at(-1), second.told.length]).toEqual(['up-1', 2])
})

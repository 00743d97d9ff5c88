import { describe, expect, test } from 'vitest'
import { startGateway, type TestGateway } from '../helpers/gateway.ts'
import { startUpstream, type Upstream } from '../helpers/upstream.ts'
import { ManualClock } from './manual-clock.ts'

const named = (name: string): Promise<Upstream> => startUpstream((_req, res) => res.end(name))
/** Draws the first, then the last, and so on. */
const alternating = () => {
  let i = 0
  return () => (i++ % 2 === 0 ? 0 : 0.999)
}

function hosts(policy: string, ports: readonly number[]): string {
  const backends = ports.map(port => `{host: 'localhost:${port}'}`).join(', ')
  return `binds: [{port: 8080, listeners: [{routes: [{policies: {sessionPersistence: ${policy}}, backends: [${backends}]}]}]}]`
}

async function ask(gateway: TestGateway, headers: Record<string, string> = {}) {
  // The clock of a test may leap over the idle time of connections.
  const reply = await fetch(gateway.url(8080), { headers: { connection: 'close', ...headers } })
  const [cookie = ''] = reply.headers.getSetCookie()
  return {
    from: await reply.text(),
    status: reply.status,
    set: cookie,
    cookie: cookie.split(';')[0]!,
    headers: reply.headers,
  }
}

describe('a cookie', () => {
  test('keeps a client with its backend, whoever comes in between', async () => {
    await using a = await named('a')
    await using b = await named('b')
    await using gateway = await startGateway(hosts('{cookie: {name: sid, path: /shop}}', [a.port, b.port]), {
      random: alternating(),
    })
    const [first, second] = [await ask(gateway), await ask(gateway)]
    expect([first.from, second.from]).toEqual(['a', 'b'])
    expect(first.set).toMatch(/^sid=[\w-]{12}\.\.[\da-z]+\.[\da-z]+; Path=\/shop; HttpOnly; SameSite=Lax$/)
    for (const { from, cookie } of [first, second, first, first]) {
      const again = await ask(gateway, { cookie: `other=1; ${cookie}` })
      expect([again.from, again.set]).toEqual([from, ''])
    }
    expect((await ask(gateway, { cookie: 'sid=forged' })).set).not.toBe('')
  })

  test('ends with its absolute and its idle time, and a permanent one says when', async () => {
    await using a = await named('a')
    await using b = await named('b')
    const clock = new ManualClock()
    const policy = '{cookie: {name: sid, lifetime: permanent}, absoluteTimeout: 1h, idleTimeout: 10m}'
    await using gateway = await startGateway(hosts(policy, [a.port, b.port]), { clock, random: alternating() })
    let last = await ask(gateway)
    expect(last.set).toContain('; Max-Age=3600;')
    for (let minutes = 9; minutes < 60; minutes += 9) {
      clock.advance(540_000)
      last = await ask(gateway, { cookie: last.cookie })
      expect(last.from).toBe('a')
      expect(last.set).toContain(`; Max-Age=${3600 - minutes * 60};`)
    }
    clock.advance(540_000)
    const over = await ask(gateway, { cookie: last.cookie })
    expect([over.from, over.set]).toEqual(['b', expect.stringContaining('; Max-Age=3600;')])
    clock.advance(660_000)
    expect((await ask(gateway, { cookie: over.cookie })).from).toBe('a')
  })

  test('stays with a backend that has moved in the list, and is no longer drawn', async () => {
    await using a = await named('a')
    await using b = await named('b')
    await using c = await named('c')
    const config = hosts('{cookie: {name: sid}}', [a.port, b.port])
    await using gateway = await startGateway(config, { random: alternating() })
    const { cookie } = await ask(gateway)
    const moved = `{host: 'localhost:${c.port}'}, {host: 'localhost:${a.port}', weight: 0}`
    await using later = await startGateway(config.replace(`{host: 'localhost:${a.port}'}`, moved))
    expect((await ask(later, { cookie })).from).toBe('a')
  })

  test('is not set by an answer that no backend gave', async () => {
    await using a = await named('a')
    const config = hosts('{cookie: {name: sid}}, authorization: {rules: [{deny: "true"}]}', [a.port])
    await using gateway = await startGateway(config)
    const { status, set } = await ask(gateway)
    expect([status, set]).toEqual([403, ''])
  })
})

test('a header field that clients send back keeps them with one endpoint of a service, while it is there', async () => {
  await using a = await named('a')
  await using b = await named('b')
  const service = 'default/app.example.com'
  const config = (ports: readonly number[]) => `
binds: [{port: 8080, listeners: [{routes: [{policies: {sessionPersistence: {header: {name: X-Session}}}, backends: [{service: {name: ${service}, port: 80}}]}]}]}]
services:
- {name: app, namespace: default, hostname: app.example.com, vips: [], ports: {"80": 8080}}
workloads:
${ports.map(port => `- {workloadIps: [127.0.0.1], namespace: default, services: {${service}: {"80": ${port}}}}`).join('\n')}
`
  await using gateway = await startGateway(config([a.port, b.port]), { random: alternating() })
  const first = await ask(gateway)
  const session = first.headers.get('x-session')!
  for (let i = 0; i < 6; i++) {
    const again = await ask(gateway, { 'x-session': session })
    expect([again.from, again.headers.get('x-session')]).toEqual([first.from, session])
  }
  const rest = first.from === 'a' ? b : a
  await using later = await startGateway(config([rest.port]))
  const moved = await ask(later, { 'x-session': session })
  expect(moved.from).not.toBe(first.from)
  expect(moved.headers.get('x-session')).not.toBe(session)
})

test('a permanent cookie says how long it lasts', async () => {
  await expect(startGateway(hosts('{cookie: {name: sid, lifetime: permanent}}', [1]))).rejects.toThrow(
    'absoluteTimeout',
  )
})

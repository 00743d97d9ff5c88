import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { ManualClock } from '../manual-clock.ts'

async function socket(): Promise<Socket> {
  const made = createSocket('udp4')
  made.on('error', () => {})
  onTestFinished(() => {
    try {
      made.close()
    } catch {
      // It has been closed.
    }
  })
  await once(made.bind(0, '127.0.0.1'), 'listening')
  return made
}

/** A server that answers each datagram with its name and what it got. */
async function server(name: string): Promise<{ host: string; got: string[] }> {
  const made = await socket()
  const got: string[] = []
  made.on('message', (bytes, { address, port }) => {
    got.push(String(bytes))
    made.send(`${name}: ${bytes}`, port, address)
  })
  return { host: `127.0.0.1:${made.address().port}`, got }
}

async function client(gateway: TestGateway) {
  const made = await socket()
  const port = gateway.gateway.portOf(5300, 'udp')!
  const send = (text: string) => made.send(text, port, '127.0.0.1')
  return {
    send,
    async ask(text: string): Promise<string> {
      const answer = once(made, 'message')
      send(text)
      return String((await answer)[0])
    },
    answer: async () => String((await once(made, 'message'))[0]),
  }
}

/** Ends every session, so that a test that fails does not wait for them. */
const ending = (clock: ManualClock) => ({ [Symbol.dispose]: () => clock.advance(3_600_000) })

const udp = (routes: string, frontend = '') =>
  `${frontend}\nbinds: [{port: 5300, listeners: [{name: dns, protocol: UDP, tcpRoutes: [${routes}]}]}]`
const to = (...hosts: string[]) => `{name: r, backends: [${hosts.map(host => `{host: '${host}'}`).join(', ')}]}`

describe('datagrams', () => {
  test('pass in both directions, separated by client, with a log record and metrics', async () => {
    const one = await server('one')
    const clock = new ManualClock()
    await using gateway = await startGateway(udp(to(one.host)), { clock })
    using _ = ending(clock)
    const [a, b] = [await client(gateway), await client(gateway)]
    expect(await Promise.all([a.ask('x'), b.ask('y')])).toEqual(['one: x', 'one: y'])
    expect(await a.ask('again')).toBe('one: again')
    expect(gateway.gateway.metrics.render()).toMatch(
      /downstream_connections_active\{bind="bind\/5300\/udp",.*protocol="udp"\} 2/,
    )
    expect(
      gateway.gateway
        .work()
        .connections.map(each => each.received)
        .sort(),
    ).toEqual([1, 6])
    clock.advance(59_000)
    expect(gateway.gateway.work().connections).toHaveLength(2)
    expect(await b.ask('still')).toBe('one: still')
    clock.advance(2000)
    // Only the one that has been silent.
    expect(gateway.gateway.work().connections).toHaveLength(1)
    await expect
      .poll(() => gateway.logged.join(''))
      .toMatch(
        /request gateway=default\/default listener=dns route=default\/r endpoint=127\.0\.0\.1:\d+ src\.addr=127\.0\.0\.1:\d+ protocol=udp udp\.bytes\.received=6 udp\.bytes\.sent=16 duration=\d+ms/,
      )
  })

  test('TCP and UDP can share a port number in one config', async () => {
    const one = await server('one')
    await using gateway = await startGateway(`
gateways:
  web: {port: 5300}
  dns: {port: 5300, protocol: UDP}
routes: [{gateways: [web], policies: {directResponse: {status: 200, body: over TCP}}}]
tcpRoutes: [{gateways: [dns], backends: [{host: '${one.host}'}]}]`)
    expect(await (await client(gateway)).ask('x')).toBe('one: x')
    expect(await (await fetch(gateway.url(5300))).text()).toBe('over TCP')
  })

  test('weights split clients, and a client stays with its backend', async () => {
    const [one, two] = [await server('one'), await server('two')]
    let turn = 0
    await using gateway = await startGateway(udp(to(one.host, two.host)), { random: () => (turn++ % 2) / 2 })
    const [a, b] = [await client(gateway), await client(gateway)]
    const names = [await a.ask('x'), await b.ask('x'), await a.ask('x'), await b.ask('x')]
    expect(names).toEqual(['one: x', 'two: x', 'one: x', 'two: x'])
  })

  test('a reload ends only sessions whose backend it removes', async () => {
    const [one, two] = [await server('one'), await server('two')]
    let turn = 0
    await using gateway = await startGateway(udp(to(one.host, two.host)), { random: () => (turn++ % 2) / 2 })
    const [a, b] = [await client(gateway), await client(gateway)]
    expect([await a.ask('x'), await b.ask('x')]).toEqual(['one: x', 'two: x'])
    expect(await gateway.reload(udp(to(two.host)))).toEqual([])
    expect([await a.ask('y'), await b.ask('y')]).toEqual(['two: y', 'two: y'])
    const records = gateway.logged.filter(line => line.includes('protocol=udp'))
    expect(records).toHaveLength(1)
    expect(records[0]).toContain(one.host)
  })

  test('a removed port is freed at once, and an occupied one opens once it is free', async () => {
    const [one, taken] = [await server('one'), await socket()]
    const clock = new ManualClock()
    const { port } = taken.address()
    await using gateway = await startGateway('{}', { clock, portFor: () => port })
    using _ = ending(clock)
    expect(await gateway.reload(udp(to(one.host)))).toEqual([])
    expect(gateway.gateway.portOf(5300, 'udp')).toBeUndefined()
    await new Promise<void>(closed => taken.close(closed))
    clock.advance(1000)
    await expect.poll(() => gateway.gateway.portOf(5300, 'udp')).toBe(port)
    const a = await client(gateway)
    expect(await a.ask('x')).toBe('one: x')
    expect(await gateway.reload('{}')).toEqual([])
    expect(await gateway.reload(udp(to(one.host)))).toEqual([])
    expect(gateway.gateway.portOf(5300, 'udp')).toBe(port)
  })

  test('connection rules apply, and nothing from a refused client is forwarded', async () => {
    const one = await server('one')
    const clock = new ManualClock()
    await using gateway = await startGateway(
      udp(
        to(one.host),
        'frontendPolicies: {networkAuthorization: {rules: [{deny: \'source.address == "127.0.0.1"\'}]}}',
      ),
      { clock },
    )
    using _ = ending(clock)
    const a = await client(gateway)
    for (const text of ['x', 'y']) a.send(text)
    await expect.poll(() => gateway.gateway.work().connections[0]?.received).toBe(2)
    clock.advance(61_000)
    await expect.poll(() => gateway.logged.join('')).toContain('refused by networkAuthorization')
    expect(one.got).toEqual([])
  })

  test('a client without a route or backend yields one log record', async () => {
    for (const [routes, error] of [
      ['', 'route not found'],
      ['{backends: []}', 'no valid backends'],
    ]) {
      const clock = new ManualClock()
      await using gateway = await startGateway(udp(routes!), { clock })
      using _ = ending(clock)
      const a = await client(gateway)
      for (const text of ['x', 'yy']) a.send(text)
      await expect.poll(() => gateway.gateway.work().connections[0]?.received).toBe(3)
      clock.advance(61_000)
      await expect.poll(() => gateway.logged.filter(line => line.includes(error!))).toHaveLength(1)
    }
  })

  test('reaches a backend that starts late', async () => {
    const free = await socket()
    const { port } = free.address()
    await new Promise<void>(closed => free.close(closed))
    await using gateway = await startGateway(udp(to(`127.0.0.1:${port}`)))
    const a = await client(gateway)
    a.send('x')
    await expect.poll(() => gateway.gateway.work().connections[0]?.received).toBe(1)
    const late = createSocket('udp4')
    onTestFinished(() => void late.close())
    await once(late.bind(port, '127.0.0.1'), 'listening')
    late.on('message', (bytes, from) => late.send(`late: ${bytes}`, from.port, from.address))
    expect(await a.ask('y')).toBe('late: y')
  })

  test('a graceful stop still delivers responses and accepts no new clients', async () => {
    const one = await socket()
    const clock = new ManualClock()
    await using gateway = await startGateway(udp(to(`127.0.0.1:${one.address().port}`)), { clock })
    using _ = ending(clock)
    const [a, b] = [await client(gateway), await client(gateway)]
    a.send('slow')
    const [, from] = (await once(one, 'message')) as [Buffer, { port: number }]
    const stopped = gateway.gateway.stop({ min: 0, max: 10_000 })
    b.send('late')
    one.send('at last', from.port, '127.0.0.1')
    expect(await a.answer()).toBe('at last')
    expect(gateway.gateway.work().connections).toHaveLength(1)
    clock.advance(1500)
    await stopped
  })

  test('a UDP route to a TLS backend is refused at startup', async () => {
    const text = udp("{name: r, policies: {backendTLS: {}}, backends: [{host: '127.0.0.1:9'}]}")
    await expect(startGateway(text)).rejects.toThrow('is to be reached with TLS, which datagrams are not')
  })
})

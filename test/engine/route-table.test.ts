import { describe, expect, test, vi } from 'vitest'
import type { Listener } from '../../src/config/snapshot.ts'
import { RouteTable } from '../../src/engine/route-table.ts'
import { HeaderList } from '../../src/http/headers.ts'
import { startGateway } from '../helpers/gateway.ts'

const file = `binds:
- port: 8080
  listeners:
  - routes:
    - {name: root, policies: {directResponse: {status: 200, body: root}}}
    - {name: a, matches: [{path: {pathPrefix: /a/}}], policies: {directResponse: {status: 200, body: a}}}
    - {name: ab, matches: [{path: {pathPrefix: /a/b}}], policies: {directResponse: {status: 200, body: ab}}}
    - {name: slash, matches: [{path: {pathPrefix: //}}], policies: {directResponse: {status: 200, body: slash}}}
    - {name: query, matches: [{path: {pathPrefix: /q}, query: [{name: x, value: {exact: '1'}}]}], policies: {directResponse: {status: 200, body: query}}}
    - {name: wild, hostnames: ['*.example.com'], policies: {directResponse: {status: 200, body: wild}}}
    - {name: wilder, hostnames: ['*.com'], policies: {directResponse: {status: 200, body: wilder}}}
`

async function withTable(use: (find: (path: string, host?: string) => string | undefined, table: RouteTable) => void) {
  await using gateway = await startGateway(file)
  const [listener] = gateway.gateway.snapshot!.binds[0]!.listeners as readonly [Listener]
  const table = new RouteTable(listener.routes)
  const head = { method: 'GET', scheme: 'http' as const, authority: '', headers: new HeaderList() }
  use((path, host = 'localhost') => table.find({ ...head, path }, host)?.route.name, table)
}

/** Look-ups in maps while `work` runs. */
function lookUps(work: () => unknown): number {
  const get = vi.spyOn(Map.prototype, 'get')
  try {
    work()
    return get.mock.calls.length
  } finally {
    get.mockRestore()
  }
}

describe('prefixes', () => {
  test.each([
    ['/', 'root'],
    ['/a', 'a'],
    ['/a/', 'a'],
    ['/a?x=/a/b', 'a'],
    ['/ab', 'root'],
    ['/a/b', 'ab'],
    ['/a/b/', 'ab'],
    ['/a/b//c', 'ab'],
    ['/a/bc', 'a'],
    ['//', 'slash'],
    ['//a', 'slash'],
    ['/q?y=2&x=1', 'query'],
    ['/q?x=1&x=2', 'root'],
    ['*', 'root'],
  ])('%s matches %s', async (path, route) => {
    await withTable(find => expect(find(path)).toBe(route))
  })
})

describe('wildcards', () => {
  test.each([
    ['a.example.com', 'wild'],
    ['a.b.example.com', 'wild'],
    ['example.com', 'wilder'],
    ['.example.com', 'wilder'],
    ['.com', 'root'],
    ['com', 'root'],
    ['', 'root'],
  ])('%s matches %s', async (host, route) => {
    await withTable(find => expect(find('/', host)).toBe(route))
  })
})

describe('the number of lookups is bounded by the config', () => {
  test.each([
    ['slashes', '/'.repeat(60_000), 'localhost', 'slash'],
    ['segments', '/a'.repeat(30_000), 'localhost', 'a'],
    ['dots in the host', '/', `${'a.'.repeat(30_000)}example.com`, 'wild'],
    ['nothing but dots', '/', '.'.repeat(60_000), 'root'],
  ])('%s', async (_name, path, host, route) => {
    await withTable((find, table) => {
      expect(find(path, host)).toBe(route)
      expect(lookUps(() => find(path, host))).toBeLessThan(20)
      expect(lookUps(() => table.nearest(path, host, 1))).toBeLessThan(20)
    })
  })
})

test('a table made from the previous one finds what a fresh one does', async () => {
  await using gateway = await startGateway(file)
  const [listener] = gateway.gateway.snapshot!.binds[0]!.listeners as readonly [Listener]
  let state = 7
  const roll = (sides: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * sides)
  }
  const paths = ['/', '/a', '/a/b', '/a/b/c', '/q', '/q?x=1']
  const hosts = ['localhost', 'x.example.com', 'y.com']
  const any = listener.routes[0]!
  // Rules of one route share its name: among equal matches, the first wins.
  const rule = () => {
    const name = `r${roll(8)}`
    const path = roll(2) ? { pathPrefix: paths[roll(5)]! } : { exact: paths[roll(5)]! }
    const key = `${name} ${state}`
    return {
      ...any,
      key,
      name,
      hostnames: roll(2) ? [] : [hosts[roll(3)]!],
      matches: [{ path, headers: [], query: [] }],
    }
  }
  const head = { method: 'GET', scheme: 'http' as const, authority: '', headers: new HeaderList() }
  const found = (table: RouteTable) =>
    hosts.flatMap(host => paths.map(path => table.find({ ...head, path }, host)?.route.key))
  let routes = [...listener.routes, ...Array.from({ length: 20 }, rule)]
  let table = new RouteTable(routes)
  for (let step = 0; step < 60; step++) {
    routes = routes.flatMap(each => (roll(12) ? [each] : Array.from({ length: roll(3) }, rule)))
    if (roll(3) === 0) routes.splice(roll(routes.length), 0, rule())
    table = new RouteTable(routes, table)
    expect(found(table)).toEqual(found(new RouteTable(routes)))
  }
})

import { get } from 'node:http'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openDryGateway } from '../../../src/tools/dry-run/dry-run.ts'
import type { TraceMessage } from '../../../src/trace/trace-event.ts'
import { startGateway } from '../../helpers/gateway.ts'

/** Why each route was not chosen for a request that has everything, by its name. */
async function misses(routes: readonly string[], url = 'http://api.example.com/v1/chat?a=1') {
  const text = `binds:\n- port: 80\n  listeners:\n  - routes:\n${routes.map(each => `    - {${each}}\n`).join('')}`
  const gateway = await openDryGateway('-', { cwd: '/', stdin: Readable.from([text]), env: {} })
  const { events } = await gateway.run({ method: 'GET', url, headers: [['x-a', '1']] })
  const told = events.map(({ message }) => message).find(isRoute)
  const tried = told?.tried.map(({ route, failed }) => [route.split('/').at(-1), failed] as const) ?? []
  return { chosen: told?.selected?.split('/').at(-1), tried }
}

function isRoute(message: TraceMessage): message is Extract<TraceMessage, { type: 'route' }> {
  return message.type === 'route'
}

const HEADER = '{name: x-a, value: {exact: "1"}}'
const QUERY = '{name: a, value: {exact: "1"}}'

test.each<[string, string, string, string]>([
  ['a wider host', 'hostnames: [api.example.com]', 'hostnames: ["*.example.com"]', 'host *.example.com is wider'],
  ['any host', 'hostnames: ["*.example.com"]', 'hostnames: []', 'any host'],
  [
    'no exact path',
    'matches: [{path: {exact: /v1/chat}}]',
    'matches: [{path: {pathPrefix: /v1/chat}}]',
    '/v1/chat is not an exact path',
  ],
  ['a shorter path', 'matches: [{path: {pathPrefix: /v1}}]', 'matches: [{path: {pathPrefix: /}}]', 'path / is shorter'],
  [
    'any method',
    'matches: [{path: {pathPrefix: /v1}, method: GET}]',
    'matches: [{path: {pathPrefix: /v1}}]',
    'any method',
  ],
  [
    'fewer headers',
    `matches: [{path: {pathPrefix: /v1}, headers: [${HEADER}]}]`,
    'matches: [{path: {pathPrefix: /v1}}]',
    'fewer headers',
  ],
  [
    'fewer query parameters',
    `matches: [{path: {pathPrefix: /v1}, query: [${QUERY}]}]`,
    'matches: [{path: {pathPrefix: /v1}}]',
    'fewer query parameters',
  ],
])('less specific by %s', async (_, winner, loser, why) => {
  // The names would decide otherwise.
  const { chosen, tried } = await misses([`name: z, ${winner}`, `name: a, ${loser}`])
  expect({ chosen, tried }).toEqual({ chosen: 'z', tried: [['a', `less specific: ${why}`]] })
})

test('equally specific: the name decides', async () => {
  expect(await misses(['name: b', 'name: a'])).toEqual({
    chosen: 'a',
    tried: [['b', 'as specific, and its name comes later']],
  })
})

test('the nearest misses come first', async () => {
  const routes = [
    'name: host, hostnames: [other.test]',
    'name: path, matches: [{path: {exact: /other}}]',
    'name: method, matches: [{path: {pathPrefix: /v1}, method: POST}]',
    'name: header, matches: [{path: {pathPrefix: /v1}, headers: [{name: x-b, value: {regex: ".*"}}]}]',
    'name: value, matches: [{path: {pathPrefix: /v1}, headers: [{name: x-a, value: {exact: "2"}}]}]',
    'name: query, matches: [{path: {pathPrefix: /v1}, query: [{name: b, value: {exact: "1"}}]}]',
    'name: both, matches: [{path: {exact: /other}}, {path: {regex: "/v1/.*"}, method: PUT}]',
  ]
  expect(await misses(routes)).toEqual({
    chosen: undefined,
    tried: [
      ['query', 'query parameter b is missing'],
      ['header', 'header x-b is missing'],
      ['value', 'header x-a does not match'],
      ['method', 'method is not POST'],
      ['both', 'method is not PUT (the nearest of 2 matches)'],
      ['path', 'path is not /other'],
      ['host', 'host is not other.test'],
    ],
  })
})

test('under load, only the nearest of many routes are examined', async () => {
  const many = (name: string, what: string) => Array.from({ length: 150 }, (_, i) => `name: ${name}-${i}, ${what}`)
  const routes = [
    ...many('host', 'hostnames: [other.test]'),
    ...many('path', 'hostnames: ["*.example.com"], matches: [{path: {exact: /other}}]'),
    'name: any, matches: [{path: {exact: /v1/chat}, method: PUT}]',
    'name: pattern, hostnames: ["*.com"], matches: [{path: {regex: "/v1/.*"}, method: PUT}]',
    'name: deep, hostnames: [api.example.com], matches: [{path: {pathPrefix: /v1}, method: PUT}]',
  ]
  const places = routes.map(each => `    - {${each}, policies: {directResponse: {status: 200}}}\n`).join('')
  await using gateway = await startGateway(`binds:\n- port: 80\n  listeners:\n  - routes:\n${places}`)
  const watch = gateway.trace.watch({ requests: 1 })
  if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
  await request(`${gateway.url(80)}/v1/chat`, { host: 'api.example.com' })
  let told: Extract<TraceMessage, { type: 'route' }> | undefined
  for (let event = watch.next(); event; event = watch.next()) if (isRoute(event.message)) told = event.message
  const names = told?.tried.map(({ route }) => route.split('/').at(-1)?.split('-')[0]) ?? []
  expect(names.slice(0, 3)).toEqual(['deep', 'pattern', 'any'])
  expect(new Set(names.slice(3))).toEqual(new Set(['path']))
  expect({ told: names.length, more: told?.more }).toEqual({ told: 100, more: 203 })
  expect(await misses(routes)).toMatchObject({ tried: { length: 303 } })
})

/** With a `Host` of one's own, which `fetch` does not send. */
function request(url: string, headers: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, reply => reply.resume().on('end', resolve)).on('error', reject)
  })
}

import { expect, test } from 'vitest'
import { plainPaint } from '../../../src/diagnostics/paint.ts'
import { parseExposition } from '../../../src/tools/top/exposition.ts'
import { ratesOf } from '../../../src/tools/top/rates.ts'
import { topText } from '../../../src/tools/top/screen.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { echo, startUpstream } from '../../helpers/upstream.ts'

test('what is left of each rate limit, the scarcest first, as the gateway counts it', async () => {
  await using upstream = await startUpstream(echo)
  const limited = (name: string, size: number) => `
- name: ${name}
  matches: [{path: {pathPrefix: /${name}}}]
  policies: {localRateLimit: [{maxTokens: ${size}, tokensPerFill: 1, fillInterval: 1h}]}
  backends: [{host: '${upstream.host}'}]`
  await using gateway = await startGateway(`
gateways: {default: {port: 8080}}
routes:${limited('wide', 100)}${limited('tight', 4)}
`)
  const look = () => parseExposition(gateway.gateway.metrics.render())
  const before = look()
  expect(ratesOf(before, look(), 1).routes).toEqual([])
  for (const path of ['/tight', '/tight', '/tight', '/wide']) await (await fetch(`${gateway.url(8080)}${path}`)).text()
  const { budgets } = ratesOf(before, look(), 1)
  expect(budgets.map(({ remaining, capacity, at }) => [remaining, capacity, at])).toEqual([
    [1, 4, 'test.yaml:10'],
    [99, 100, 'test.yaml:6'],
  ])
})

const budget = { limit: 'route:default/chat@routes.0/localRateLimit', at: 'a.yaml:7', counts: 'tokens' }

test('the screen: nothing has come, and what is left as a bar', () => {
  const rates = {
    total: 0,
    inFlight: 0,
    routes: [],
    models: [],
    budgets: [{ ...budget, remaining: 30, capacity: 100 }],
  }
  expect(topText(rates, { paint: plainPaint, width: 80 })).toBe(`- requests/s, 0 in flight

no request has come yet

BUDGET  COUNTS  LEFT   OF              SET AT
chat    tokens    30  100  ███░░░░░░░  a.yaml:7
`)
})

test('routes, models and budgets, cut to the height of the terminal', () => {
  const route = { requests: 12.5, failed: 1, limited: 0, median: 1.25, slow: 1500, bytes: 12_000 }
  const model = { provider: 'openai', calls: 2, median: 320, slow: 2100, inputTokens: 900, outputTokens: 80 }
  const rates = {
    total: 12.5,
    inFlight: 3,
    routes: [{ ...route, route: 'default/chat' }],
    models: [{ ...model, model: 'gpt-5' }],
    budgets: [{ ...budget, remaining: 0, capacity: 100 }],
  }
  expect(topText(rates, { paint: plainPaint, width: 80 })).toBe(`13 requests/s, 3 in flight

ROUTE         REQ/S  5XX/S  429/S    P50   P99  BYTES/S
default/chat     13    1.0      -  1.3ms  1.5s   12.0kB

MODEL  PROVIDER  CALLS/S    P50   P99  TOKENS IN/S  TOKENS OUT/S
gpt-5  openai        2.0  320ms  2.1s          900            80

BUDGET  COUNTS  LEFT   OF              SET AT
chat    tokens     0  100  ░░░░░░░░░░  a.yaml:7
`)
  expect(topText(rates, { paint: plainPaint, width: 80, rows: 5 }).split('\n')).toHaveLength(5)
})

import { expect, test } from 'vitest'
import { plainPaint } from '../../../src/diagnostics/paint.ts'
import { ExpositionReader } from '../../../src/tools/top/exposition.ts'
import { ratesOf } from '../../../src/tools/top/rates.ts'
import { topText } from '../../../src/tools/top/text.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { echo, startUpstream } from '../../helpers/upstream.ts'

test('lists the remaining quota of each rate limit, the lowest first', async () => {
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
  const exposition = new ExpositionReader()
  const look = () => exposition.read(gateway.gateway.metrics.render())
  const before = look()
  expect(ratesOf(before, look(), 1).routes).toEqual([])
  for (const path of ['/tight', '/tight', '/tight', '/wide']) await (await fetch(`${gateway.url(8080)}${path}`)).text()
  const rates = ratesOf(before, look(), 1)
  expect(rates.budgets.map(({ remaining, capacity, at }) => [remaining, capacity, at])).toEqual([
    [1, 4, 'test.yaml:10'],
    [99, 100, 'test.yaml:6'],
  ])
  expect(topText(rates, { paint: plainPaint })).toContain(`
BUDGET  COUNTS    LEFT   OF              SET AT
tight   requests     1    4  ███░░░░░░░  test.yaml:10
wide    requests    99  100  █████████░  test.yaml:6
`)
})

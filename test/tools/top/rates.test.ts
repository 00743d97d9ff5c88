import { describe, expect, test } from 'vitest'
import { plainPaint } from '../../../src/diagnostics/paint.ts'
import { MetricsRegistry } from '../../../src/engine/metrics/registry.ts'
import { parseExposition } from '../../../src/tools/top/exposition.ts'
import { ratesOf } from '../../../src/tools/top/rates.ts'
import { topText } from '../../../src/tools/top/screen.ts'

/** A gateway's registry with the metrics that `gwctl top` reads. */
function registry() {
  const metrics = new MetricsRegistry()
  const requests = metrics.counter('agentgateway_requests_total', 'Requests.', ['route', 'status'])
  const seconds = metrics.histogram('agentgateway_request_duration_seconds', 'Time.', [0.01, 0.1, 1], ['route'])
  const tokens = metrics.histogram(
    'agentgateway_gen_ai_client_token_usage',
    'Tokens.',
    [100, 1000],
    ['gen_ai_token_type', 'gen_ai_system', 'gen_ai_request_model'],
  )
  const look = () => parseExposition(metrics.render())
  const serve = (route: string, status: string, took: number, times = 1) => {
    for (let i = 0; i < times; i++) {
      requests.with(route, status).add()
      seconds.with(route).observe(took)
    }
  }
  return { look, serve, tokens }
}

describe('rates', () => {
  test('what came between two looks, by route, the busiest first', () => {
    const { look, serve } = registry()
    serve('default/a', '200', 0.005, 100)
    const before = look()
    serve('default/a', '200', 0.05, 10)
    serve('default/a', '429', 0.005, 10)
    serve('default/b', '200', 0.5, 38)
    serve('default/b', '503', 0.5, 2)
    const { total, routes } = ratesOf(before, look(), 2)
    expect(total).toBe(30)
    expect(routes.map(r => [r.route, r.requests, r.failed, r.limited])).toEqual([
      ['default/b', 20, 1, 0],
      ['default/a', 10, 0, 5],
    ])
    // Ten of the twenty lie below 10 ms.
    expect(routes[1]?.median).toBeCloseTo(10)
    expect(routes[0]?.median).toBeCloseTo(550)
  })

  test('a gateway that has started anew counts from zero', () => {
    const old = registry()
    old.serve('r', '200', 0.1, 1000)
    const fresh = registry()
    fresh.serve('r', '200', 0.1, 4)
    expect(ratesOf(old.look(), fresh.look(), 2).total).toBe(2)
  })

  test('models by their tokens', () => {
    const { look, tokens } = registry()
    const before = look()
    tokens.with('input', 'openai', 'gpt "x"').observe(300)
    tokens.with('output', 'openai', 'gpt "x"').observe(50)
    expect(ratesOf(before, look(), 1).models).toEqual([
      { model: 'gpt "x"', provider: 'openai', calls: 1, inputTokens: 300, outputTokens: 50 },
    ])
  })
})

test('the screen: a line for each route, as many as there is room for', () => {
  const { look, serve } = registry()
  const before = look()
  for (let i = 0; i < 30; i++) serve(`default/r${i}`, '200', 0.05, 30 - i)
  const rates = ratesOf(before, look(), 1)
  const text = topText(rates, { paint: plainPaint, width: 80, rows: 10 })
  expect(text.split('\n').length).toBeLessThanOrEqual(10)
  expect(text).toContain('465 requests/s, 0 in flight')
  expect(text).toMatch(/ROUTE +REQ\/S +5XX\/S +429\/S +P50 +P99 +BYTES\/S\ndefault\/r0 +30 +- +- +55ms +99ms +-\n/)
})

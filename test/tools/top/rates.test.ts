import { describe, expect, test } from 'vitest'
import { MetricsRegistry } from '../../../src/engine/metrics/registry.ts'
import { ExpositionReader } from '../../../src/tools/top/exposition.ts'
import { ratesOf } from '../../../src/tools/top/rates.ts'

/** A gateway's registry with the metrics that `gwctl top` reads. */
function registry() {
  const metrics = new MetricsRegistry()
  const requests = metrics.counter('agentgateway_requests_total', 'Requests.', ['route', 'backend', 'status', 'reason'])
  const seconds = metrics.histogram('agentgateway_request_duration_seconds', 'Time.', [0.01, 0.1, 1], ['route'])
  const models = ['gen_ai_system', 'gen_ai_request_model']
  const tokens = metrics.histogram(
    'agentgateway_gen_ai_client_token_usage',
    'Tokens.',
    [100, 1000],
    ['gen_ai_token_type', ...models],
  )
  const took = metrics.histogram('agentgateway_gen_ai_server_request_duration', 'Time.', [0.1, 1], models)
  const errors = metrics.counter('agentgateway_gen_ai_server_errors_total', 'Errors.', ['status', ...models])
  const cost = metrics.counter('agentgateway_gen_ai_client_cost_usd_total', 'Cost.', models)
  const look = () => new ExpositionReader().read(metrics.render())
  const serve = (route: string, status: string, took: number, times = 1, backend = 'b') => {
    for (let i = 0; i < times; i++) {
      requests.with(route, backend, status, 'Upstream').add()
      seconds.with(route).observe(took)
    }
  }
  return { look, serve, tokens, took, errors, cost, metrics }
}

describe('rates', () => {
  test('are computed per route between two samples, the busiest first', () => {
    const { look, serve } = registry()
    serve('default/a', '200', 0.005, 100)
    const before = look()
    serve('default/a', '200', 0.05, 10)
    serve('default/a', '429', 0.005, 10)
    serve('default/b', '200', 0.5, 38)
    serve('default/b', '503', 0.5, 2)
    const { total, routes } = ratesOf(before, look(), 2)
    expect(total).toMatchObject({ requests: 30, refused: 5, limited: 5, failed: 1 })
    expect(routes.map(r => [r.name, r.requests, r.failed, r.refused])).toEqual([
      ['default/b', 20, 1, 0],
      ['default/a', 10, 0, 5],
    ])
    expect(routes[0]?.outcomes).toEqual([
      { status: '200', reason: 'Upstream', requests: 19 },
      { status: '503', reason: 'Upstream', requests: 1 },
    ])
    // Ten of the twenty lie below 10 ms.
    expect(routes[1]?.p50).toBeCloseTo(10)
    expect(routes[1]?.p90).toBeCloseTo(82)
    expect(routes[0]?.p50).toBeCloseTo(550)
  })

  test('are computed per backend, without requests that reached none', () => {
    const { look, serve } = registry()
    serve('r', '200', 0.1, 4, '/b1')
    serve('r', '502', 0.1, 2, '/b2')
    serve('r', '404', 0.1, 2, 'unknown')
    expect(ratesOf([], look(), 1).backends.map(b => [b.name, b.requests, b.failed])).toEqual([
      ['/b1', 4, 0],
      ['/b2', 2, 2],
    ])
  })

  test('treat a decreased counter as restarted', () => {
    const old = registry()
    old.serve('r', '200', 0.1, 1000)
    const fresh = registry()
    fresh.serve('r', '200', 0.1, 4)
    expect(ratesOf(old.look(), fresh.look(), 2).total.requests).toBe(2)
  })

  test('of models: requests, errors, tokens and costs', () => {
    const { look, tokens, took, errors, cost } = registry()
    const before = look()
    for (let i = 0; i < 4; i++) took.with('openai', 'gpt "x"').observe(0.05)
    errors.with('500', 'openai', 'gpt "x"').add(2)
    tokens.with('input', 'openai', 'gpt "x"').observe(300)
    tokens.with('output', 'openai', 'gpt "x"').observe(50)
    cost.with('openai', 'gpt "x"').add(0.01)
    expect(ratesOf(before, look(), 2).models).toEqual([
      {
        name: 'gpt "x"',
        provider: 'openai',
        requests: 2,
        failed: 1,
        p50: 50,
        p90: expect.closeTo(90),
        p99: 99,
        firstToken: undefined,
        inputTokens: 150,
        outputTokens: 25,
        usdPerHour: 18,
      },
    ])
  })

  test('are undefined for metrics the gateway does not expose', () => {
    const { look } = registry()
    expect(ratesOf([], look(), 1).total).toMatchObject({ inFlight: undefined, workers: undefined, memory: undefined })
  })
})

describe('metrics text format', () => {
  const read = (text: string) =>
    new ExpositionReader().read(text).map(({ name, labels, value }) => [name, labels, value])

  test('reads names, quoted labels and values', () => {
    expect(read('# HELP x y\n# TYPE x counter\nx 1\nagentgateway_y{a="1 } 2",b="q\\"\\\\\\n"} +Inf\n')).toEqual([
      ['x', {}, 1],
      ['y', { a: '1 } 2', b: 'q"\\\n' }, Number.POSITIVE_INFINITY],
    ])
  })

  test('ignores timestamps and invalid lines', () => {
    expect(read('x{a="b"} 2 1700000000000\n\nhello\nx{ 1\nx NaN\n<html> 1\n')).toEqual([['x', { a: 'b' }, 2]])
  })

  test('reuses label objects between reads', () => {
    const reader = new ExpositionReader()
    const [first] = reader.read('x{a="b"} 1\n')
    const [second] = reader.read('x{a="b"} 2\n')
    expect(second).toEqual({ ...first, value: 2 })
    expect(second?.labels).toBe(first?.labels)
  })
})

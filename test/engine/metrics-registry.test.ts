import { expect, test } from 'vitest'
import { MetricsRegistry } from '../../src/engine/metrics-registry.ts'

test('each kind in the text format', () => {
  const metrics = new MetricsRegistry()
  const requests = metrics.counter('requests_total', 'Requests\nserved.', ['method', 'route'])
  requests.with('GET', 'default/chat').add()
  requests.with('GET', 'default/chat').add(2)
  requests.with('PO"ST\n\\', undefined).add()
  metrics.gauge('config_synchronized', 'Whether the last load went well.').with().set(1)
  const duration = metrics.histogram('seconds', 'How long.', [0.1, 1], ['route'])
  for (const value of [0.05, 0.1, 0.5, 7]) duration.with('a').observe(value)
  metrics.observed('rss', 'Memory.', () => 42)
  expect(metrics.render()).toBe(`# HELP requests_total Requests\\nserved.
# TYPE requests_total counter
requests_total{method="GET",route="default/chat"} 3
requests_total{method="PO\\"ST\\n\\\\",route="unknown"} 1
# HELP config_synchronized Whether the last load went well.
# TYPE config_synchronized gauge
config_synchronized 1
# HELP seconds How long.
# TYPE seconds histogram
seconds_bucket{route="a",le="0.1"} 2
seconds_bucket{route="a",le="1.0"} 3
seconds_bucket{route="a",le="+Inf"} 4
seconds_sum{route="a"} 7.65
seconds_count{route="a"} 4
# HELP rss Memory.
# TYPE rss gauge
rss 42
`)
})

test('a name is declared once', () => {
  const metrics = new MetricsRegistry()
  metrics.counter('a', '')
  expect(() => metrics.gauge('a', '')).toThrow('declared twice')
})

test('labels that never repeat do not fill the memory', () => {
  const metrics = new MetricsRegistry()
  const family = metrics.counter('a', '', ['path'])
  for (let i = 0; i < 10_500; i++) family.with(`/${i}`).add()
  const text = metrics.render()
  expect(text.split('\n').length).toBeLessThan(10_010)
  expect(text).toContain('a{path="overflow"} 500\n')
})

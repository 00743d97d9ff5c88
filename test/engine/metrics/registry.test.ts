import { expect, test } from 'vitest'
import { renderMetrics } from '../../../src/engine/metrics/exposition.ts'
import { sumFamilies } from '../../../src/engine/metrics/families.ts'
import { MetricsRegistry, type SharedSeries } from '../../../src/engine/metrics/registry.ts'
import { WorkerCounts } from '../../../src/engine/workers/worker-counts.ts'

test('renders every metric type in the text format', () => {
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

test('rejects declaring a name twice', () => {
  const metrics = new MetricsRegistry()
  metrics.counter('a', '')
  expect(() => metrics.gauge('a', '')).toThrow('declared twice')
})

test('labels that never repeat do not exhaust memory', () => {
  const metrics = new MetricsRegistry()
  const family = metrics.counter('a', '', ['path'])
  for (let i = 0; i < 10_500; i++) family.with(`/${i}`).add()
  const text = metrics.render()
  expect(text.split('\n').length).toBeLessThan(10_010)
  expect(text).toContain('a{path="overflow"} 500\n')
})

test('truncates long label values and merges values that are not valid UTF-8', () => {
  const metrics = new MetricsRegistry()
  const seen = metrics.counter('a', 'A.', ['method'])
  for (const end of ['x', 'y']) seen.with('m'.repeat(100_000) + end).add()
  for (const half of ['\ud83d', '\ude00']) seen.with(half).add()
  expect(metrics.render().split('\n').slice(2)).toEqual([
    `a{method="${'m'.repeat(256)}"} 2`,
    'a{method="\ufffd"} 2',
    '',
  ])
})

test('an undefined label and a literal `unknown` share one series', () => {
  const metrics = new MetricsRegistry()
  const family = metrics.counter('a_total', '', ['route'])
  family.with(undefined).add()
  family.with('unknown').add()
  expect(metrics.render()).toContain('\na_total{route="unknown"} 2\n')
})

test('OpenMetrics: family names without suffix, units, info metrics and EOF', () => {
  const metrics = new MetricsRegistry()
  metrics.counter('sent_bytes_total', 'Bytes "sent".').with().add(3)
  metrics.info('build_info', 'Version.', { tag: '1' })
  metrics.histogram('wait_seconds', 'Waiting.', [1]).with().observe(2)
  expect(metrics.render('openmetrics')).toBe(`# HELP sent_bytes Bytes \\"sent\\".
# TYPE sent_bytes counter
# UNIT sent_bytes bytes
sent_bytes_total 3
# HELP build Version.
# TYPE build info
build_info{tag="1"} 1
# HELP wait_seconds Waiting.
# TYPE wait_seconds histogram
# UNIT wait_seconds seconds
wait_seconds_bucket{le="1.0"} 0
wait_seconds_bucket{le="+Inf"} 1
wait_seconds_sum 2
wait_seconds_count 1
# EOF
`)
})

test('values of all threads are summed, except info metrics', () => {
  const one = () => {
    const metrics = new MetricsRegistry()
    metrics.info('build_info', '', { tag: '1' })
    metrics.observed('in_flight', '', () => 2)
    const seconds = metrics.histogram('seconds', '', [1], ['route'])
    seconds.with('a').observe(0.5)
    seconds.with('b').observe(3)
    return metrics
  }
  const other = one()
  other.histogram('late', '', []).with().observe(1)
  const text = renderMetrics(sumFamilies([...one().families(), ...other.families()]))
  expect(text.split('\n').filter(line => !line.startsWith('#'))).toEqual([
    'build_info{tag="1"} 1',
    'in_flight 4',
    ...['a', 'b'].flatMap(route => [
      `seconds_bucket{route="${route}",le="1.0"} ${route === 'a' ? 2 : 0}`,
      `seconds_bucket{route="${route}",le="+Inf"} 2`,
      `seconds_sum{route="${route}"} ${route === 'a' ? 1 : 6}`,
      `seconds_count{route="${route}"} 2`,
    ]),
    'late_bucket{le="+Inf"} 1',
    'late_sum 1',
    'late_count 1',
    '',
  ])
})

test('counters of a worker survive its exit, gauges do not', async () => {
  const counts = new WorkerCounts()
  const worker = () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<string>()
    const metrics = new MetricsRegistry((series: SharedSeries) => counts.add({ ended: handle.ended }, series))
    const handle = { ended, end: () => end('') }
    return { metrics, handle }
  }
  const text = () =>
    renderMetrics(counts.families())
      .split('\n')
      .filter(line => !line.startsWith('#'))
  const first = worker()
  first.metrics.gauge('busy', '').with().set(1)
  const counter = first.metrics.counter('a_total', '').with()
  counter.add(2)
  expect(text()).toEqual(['busy 1', 'a_total 2', ''])
  counter.add(1)
  first.handle.end()
  await first.handle.ended
  expect(text()).toEqual(['a_total 3', ''])
  const second = worker()
  second.metrics.counter('a_total', '').with().add(10)
  second.metrics.gauge('busy', '').with().set(5)
  expect(text()).toEqual(['a_total 13', 'busy 5', ''])
})

test('excluded metrics are neither rendered nor announced, even if declared earlier', () => {
  const announced: string[] = []
  const metrics = new MetricsRegistry(({ family }) => announced.push(family.name))
  const early = metrics.counter('agentgateway_connections_total', 'Accepted.')
  metrics.exclude(['connections', 'requests'])
  const late = metrics.counter('agentgateway_requests_total', 'Served.')
  const kept = metrics.counter('agentgateway_bytes_total', 'Sent.')
  for (const family of [early, late, kept]) family.with().add()
  expect(announced).toEqual(['agentgateway_bytes_total'])
  expect(metrics.families().map(({ name }) => name)).toEqual(announced)
})

test('label values made up by clients end up in one overflow series per configured route', () => {
  const metrics = new MetricsRegistry()
  const seconds = metrics.histogram('a_seconds', 'Seconds.', [1, 2], ['model', 'route'], ['model'])
  for (let i = 0; i < 4000; i++) seconds.with(`invented-${i}`, i % 2 === 0 ? 'even' : 'odd').observe(1)
  const text = metrics.render()
  expect(text.match(/a_seconds_count\{/g)).toHaveLength(202)
  expect(text).toContain('a_seconds_count{model="overflow",route="even"} 1900\n')
  expect(text).toContain('a_seconds_count{model="overflow",route="odd"} 1900\n')
})

test('unconfirmed label values leave room for confirmed ones', () => {
  const metrics = new MetricsRegistry()
  const seconds = metrics.histogram('a_seconds', 'Seconds.', [1], ['model'], ['model'])
  for (let i = 0; i < 4000; i++) seconds.unconfirmed(`invented-${i}`).observe(1)
  seconds.with('real').observe(1)
  seconds.unconfirmed('real').observe(1)
  expect(metrics.render()).toContain('a_seconds_count{model="real"} 2\n')
})

test('labels not controlled by clients are never merged', () => {
  const metrics = new MetricsRegistry()
  const seconds = metrics.histogram('a_seconds', 'Seconds.', [1], ['model', 'route'], ['model'])
  for (let i = 0; i < 1000; i++) seconds.with('one', `route-${i}`).observe(1)
  expect(metrics.render().match(/a_seconds_count\{/g)).toHaveLength(1000)
})

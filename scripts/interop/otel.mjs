// npm run interop:otel: does a real OpenTelemetry Collector receive exactly the log records and spans that the gateway
// promises, over gRPC and over HTTP? With `-- --record` the counts go into docs/interop.md. Needs Go once.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serve } from '../../src/tools/serve/serve.ts'
import { startCollector } from './collector.mjs'
import { replaceSection } from './section.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const HARNESS = process.env.OTEL_HARNESS ?? join(root, '..', 'shared', 'harness', 'otel')
const BIN = process.env.OTEL_BIN ?? join(tmpdir(), 'gwctl-otel-bin')
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

async function main() {
  if (!(await exists(HARNESS))) {
    process.stdout.write(`no harness at ${HARNESS}: nothing was compared (set OTEL_HARNESS)\n`)
    return
  }
  const collector = await startCollector(HARNESS, BIN)
  try {
    const runs = []
    for (const protocol of ['grpc', 'http']) runs.push(await compare(protocol, collector))
    for (const run of runs)
      process.stdout.write(`${run.protocol}: ${run.logs} log records and ${run.spans} spans, as sent\n`)
    if (process.argv.includes('--record')) {
      const file = join(root, 'docs/interop.md')
      await replaceSection(file, 'opentelemetry', 'npm run interop:otel -- --record', text(collector.version, runs))
    }
  } finally {
    await collector.stop()
  }
}

/** Requests of every kind, and what each must have left at the collector. */
async function compare(protocol, collector) {
  const upstream = createServer((request, response) => {
    request.resume()
    response.end(request.headers.traceparent)
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const directory = await mkdtemp(join(tmpdir(), 'gwctl-interop-'))
  const file = join(directory, 'gateway.yaml')
  await writeFile(file, configuration(protocol, collector.ports[protocol], upstream.address().port))
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const gateway = await serve({
    file,
    cwd: directory,
    env: {},
    stdin: process.stdin,
    log: { write: () => true },
    version,
    watch: false,
    portFor: () => 0,
    refused: report => assert.fail(JSON.stringify(report)),
  })
  try {
    const base = `http://127.0.0.1:${gateway.ports.get(3000)}`
    const parents = []
    for (let i = 0; i < 40; i++) parents.push(await text200(`${base}/api/${i}`))
    await text200(`${base}/api/joined`, { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=1' })
    for (let i = 0; i < 5; i++) assert.equal((await fetch(`${base}/none/${i}`)).status, 404)
    assert.equal((await fetch(`${base}/quiet`)).status, 200)
    // Everything has been sent when it has stopped: nothing can come too late to be counted.
    await gateway.stop()
    const { logs, spans } = await collector.received({ logs: 47, spans: 41 * 2 + 6 })
    assert.equal(logs.length, 47)
    assert.equal(spans.length, 88)
    checkSpans(spans, parents)
    checkLogs(logs)
    return { protocol, logs: logs.length, spans: spans.length }
  } finally {
    upstream.close()
    upstream.closeAllConnections()
    await rm(directory, { recursive: true, force: true })
  }
}

function configuration(protocol, port, upstream) {
  const path = protocol === 'http' ? { logs: '/v1/logs', traces: '/v1/traces' } : undefined
  return `
config: {adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off'}
frontendPolicies:
  accessLog:
    add: {numbers: '[1, 2]', map: '{"a": {"b": true}}', text: '"é \\u0001"'}
    otlp: {host: "127.0.0.1:${port}", protocol: ${protocol}${path ? `, path: ${path.logs}` : ''}}
  tracing:
    host: 127.0.0.1:${port}
    protocol: ${protocol}
    randomSampling: 1.0
    attributes: {share: '0.5'}
    resources: {deployment.environment: '"interop"'}
binds:
- port: 3000
  listeners:
  - routes:
    - name: api
      matches: [{path: {pathPrefix: /api}}]
      backends: [{host: "127.0.0.1:${upstream}"}]
    - name: quiet
      matches: [{path: {exact: /quiet}}]
      policies: {directResponse: {status: 200, body: ok}}
`
}

function checkSpans(spans, parents) {
  const roots = spans.filter(({ fields }) => fields.Kind === 'Server')
  const calls = spans.filter(({ fields }) => fields.Kind === 'Client')
  assert.equal(roots.length, 47)
  assert.equal(calls.length, 41)
  assert.equal(new Set(spans.map(({ fields }) => fields.ID)).size, 88)
  for (const call of calls) {
    const root = roots.find(({ fields }) => fields.ID === call.fields['Parent ID'])
    assert.equal(root?.fields['Trace ID'], call.fields['Trace ID'])
  }
  for (const parent of parents) {
    const [, trace, span] = parent.split('-')
    assert.ok(calls.some(({ fields }) => fields['Trace ID'] === trace && fields.ID === span))
  }
  const joined = roots.find(({ attributes }) => attributes['http.path'] === '/api/joined')
  assert.equal(joined.fields['Trace ID'], TRACE)
  assert.equal(joined.fields['Parent ID'], PARENT)
  assert.equal(joined.fields.TraceState, 'vendor=1')
  assert.equal(joined.fields.Name, 'GET /api/*')
  assert.equal(joined.attributes.share, '0.5')
  assert.equal(joined.attributes['http.status'], '200')
}

function checkLogs(logs) {
  const paths = logs.map(({ attributes }) => attributes['http.path']).sort()
  const sent = [...Array(40).keys()].map(i => `/api/${i}`)
  assert.deepEqual(paths, [...sent, '/api/joined', ...[...Array(5).keys()].map(i => `/none/${i}`), '/quiet'].sort())
  for (const { fields, attributes } of logs) {
    assert.equal(fields.SeverityText, 'INFO')
    assert.equal(attributes.gateway, 'default/default')
    assert.equal(attributes.numbers, '[1,2]')
    assert.equal(attributes.map, '{"a":{"b":true}}')
    assert.equal(fields['Trace ID'], attributes['trace.id'])
    assert.equal(fields['Span ID'], attributes['span.id'])
  }
}

async function text200(url, headers = {}) {
  const reply = await fetch(url, { headers })
  assert.equal(reply.status, 200)
  return reply.text()
}

function text(version, runs) {
  const rows = runs.map(({ protocol, logs, spans }) => `| ${protocol} | ${logs} | ${spans} |`)
  return `## OpenTelemetry

An OpenTelemetry Collector ${version} (its published Go modules: OTLP receiver, debug exporter), on Node ${process.version}. 47 requests through \`gwctl run\`'s engine per protocol: 41 to a backend, 5 that no route takes, 1 answered here. Each request has to leave one log record, one server span, and one client span per upstream call, no more and no less; ids, parents, trace state, numbers, lists and maps have to arrive as sent, and the \`traceparent\` that the backend saw has to name the client span.

| protocol | log records received | spans received |
|---|---|---|
${rows.join('\n')}

`
}

function exists(path) {
  return access(path).then(
    () => true,
    () => false,
  )
}

await main()

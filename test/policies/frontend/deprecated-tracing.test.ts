import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../engine/manual-clock.ts'
import { startReceiver } from '../../engine/observe/otlp-receiver.ts'
import { timeUntil } from '../../engine/observe/until.ts'
import { startGateway } from '../../helpers/gateway.ts'

const config = (tracing: string) => `
config: {tracing: ${tracing}}
binds: [{port: 3000, listeners: [{routes: [{policies: {directResponse: {status: 200}}}]}]}]
`

describe('config.tracing', () => {
  test.each([
    ['http', 'http', '', '/v1/traces'],
    ['http', 'http', '/otel', '/otel'],
    ['http', undefined, '', '/v1/traces'],
    ['grpc', 'http', '', '/opentelemetry.proto.collector.trace.v1.TraceService/Export'],
  ] as const)('sends spans over %s, scheme %s, URL path %j', async (protocol, scheme, path, expected) => {
    const clock = new ManualClock()
    await using receiver = await startReceiver(protocol)
    const endpoint = `${scheme === undefined ? '' : `${scheme}://`}${receiver.host}${path}`
    const changes = `fields: {add: {custom: request.path}, remove: [src.addr]}, headers: {x-tenant: "7"}`
    const text = config(
      `{otlpEndpoint: "${endpoint}", otlpProtocol: ${protocol}, randomSampling: "1.0", clientSampling: false, ${changes}}`,
    )
    await using gateway = await startGateway(text, { clock })
    await fetch(`${gateway.url(3000)}/a`)
    await timeUntil(clock, () => receiver.spans.length > 0)
    expect(receiver.spans[0]?.attributes).toMatchObject({ custom: '/a' })
    expect(receiver.spans[0]?.attributes).not.toHaveProperty('src.addr')
    expect(receiver.calls[0]).toMatchObject({ path: expected, headers: { 'x-tenant': '7' } })
  })

  test('takes the endpoint from the environment', async () => {
    const clock = new ManualClock()
    await using receiver = await startReceiver('http')
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://${receiver.host}` }
    const text = config('{otlpProtocol: http, path: /traces, randomSampling: true}')
    await using gateway = await startGateway(text, { clock, env })
    await fetch(gateway.url(3000))
    await timeUntil(clock, () => receiver.calls.length > 0)
    expect(receiver.calls[0]?.path).toBe('/traces')
  })

  test.each([
    ['{randomSampling: true}', /2:10 GW103 `tracing` needs `otlpEndpoint`/],
    ['{otlpEndpoint: "ftp://a.test"}', /GW106.*the scheme `ftp` is not http or https/],
    ['{otlpEndpoint: "http://a.test/x?key=1"}', /GW106/],
    ['{otlpEndpoint: ":4317"}', /GW106/],
    [
      '{otlpEndpoint: "a.test:4317"}\nfrontendPolicies: {tracing: {host: "a.test:4317"}}',
      /GW111 `config\.tracing` is the/,
    ],
  ])('refuses %s', async (tracing, finding) => {
    const text = `
config: {tracing: ${tracing.replace('}\n', '}}\n')}${tracing.includes('\n') ? '' : '}'}
binds: []
`
    await expect(startGateway(text)).rejects.toThrow(finding)
  })
})

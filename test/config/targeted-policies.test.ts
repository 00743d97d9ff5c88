import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { load } from '../../src/config/load.ts'
import { offlineRuntime } from '../../src/config/offline-runtime.ts'
import { createAuthority, createCertificate } from '../helpers/certificates.ts'
import { startGateway } from '../helpers/gateway.ts'
import { echo, startUpstream } from '../helpers/upstream.ts'

async function findings(target: string, policy: string, phase = 'route'): Promise<string[]> {
  const text = `
gateways: {default: {port: 8080}, tcp: {port: 8081, protocol: TCP}}
routes: [{name: a, backends: [{backend: /b}, {service: {name: ns/app.test, port: 80}}]}]
tcpRoutes: [{name: t, gateways: tcp, backends: [{host: 'db.test:5432'}]}]
services: [{name: app, namespace: ns, hostname: app.test, vips: [], ports: {"80": 8080}}]
backends:
- {name: b, host: 'b.test:80'}
- {name: tools, mcp: {targets: [{name: web, mcp: {host: 'http://m.test/mcp'}}, {name: own, stdio: {cmd: node}}]}}
- {name: models, ai: {groups: [{providers: [{name: p1, provider: {openAI: {}}}]}]}}
policies: [{name: {name: p}, phase: ${phase}, target: ${target}, policy: {${policy}}}]`
  const { diagnostics } = await load('config.yaml', text, {
    env: {},
    tier: 'offline',
    runtime: offlineRuntime(),
    readReferenced: () => undefined,
  })
  return diagnostics.filter(d => d.code !== 'GW521').map(({ code, path }) => `${code} ${path}`)
}

const HEADERS = 'requestHeaderModifier: {set: {x-a: "1"}}'

describe('a policy target must exist', () => {
  test.each([
    ['{gateway: {gatewayName: default}}', HEADERS],
    ['{gateway: {gatewayName: default, port: 8080}}', HEADERS],
    ['{route: {name: a}}', HEADERS],
    ['{route: {name: a, kind: HTTPRoute}}', HEADERS],
    ['{route: {name: t, kind: TCPRoute}}', 'backendTLS: {}'],
    ['{backend: {backend: {name: b}}}', HEADERS],
    ['{backend: {backend: {name: tools, section: web}}}', HEADERS],
    ['{backend: {backend: {name: models, section: p1}}}', HEADERS],
    ['{backend: {service: {namespace: ns, hostname: app.test}}}', HEADERS],
    ['{backend: {service: {namespace: ns, hostname: app.test, port: 80}}}', HEADERS],
  ])('%s exists', async (target, policy) => {
    expect(await findings(target, policy)).toEqual([])
  })

  test.each([
    ['{gateway: {gatewayName: default, gatewayNamespace: other}}'],
    ['{gateway: {gatewayName: default, port: 9090}}'],
    ['{route: {name: a, kind: TCPRoute}}'],
    ['{route: {name: t, kind: HTTPRoute}}'],
    ['{backend: {backend: {name: tools, section: own}}}'],
    ['{backend: {backend: {name: models, section: p2}}}'],
    ['{backend: {service: {namespace: ns, hostname: other.test}}}'],
    ['{backend: {service: {namespace: ns, hostname: app.test, port: 81}}}'],
  ])('%s does not exist', async target => {
    const [finding, ...others] = await findings(target, HEADERS)
    expect([finding?.split(' ')[0], others]).toEqual(['GW401', []])
  })
})

describe('a policy without effect on its target is reported as unserved', () => {
  test.each([
    ['gateway', '{gateway: {gatewayName: default}}', 'timeout: {requestTimeout: 1s}', 'policies[0].policy.timeout'],
    ['gateway', '{gateway: {gatewayName: default}}', 'backendTLS: {}', 'policies[0].policy.backendTLS'],
    ['route', '{backend: {backend: {name: b}}}', 'retry: {attempts: 2}', 'policies[0].policy.retry'],
    ['route', '{backend: {backend: {name: tools, section: web}}}', 'a2a: {}', 'policies[0].policy.a2a'],
  ])('phase %s, %s: %s', async (phase, target, policy, place) => {
    expect(await findings(target, policy, phase)).toContain(`GW601 ${place}`)
  })

  test('a route cannot be targeted before routes are chosen', async () => {
    expect(await findings('{route: {name: a}}', 'cors: {}', 'gateway')).toEqual(['GW111 policies[0].phase'])
  })
})

describe('targeted policies apply to', () => {
  const fieldsOf = (body: { headers: string[] }) =>
    body.headers.flatMap((h, i) => (i % 2 === 0 && h.startsWith('x-') ? [`${h}: ${body.headers[i + 1]}`] : []))
  const modifier = (name: string, target: string) =>
    `- {name: {name: ${name}}, target: ${target}, policy: {requestHeaderModifier: {set: {x-by: ${name}}}}}`

  test('calls to a service, with those for its port first', async () => {
    await using upstream = await startUpstream(echo)
    const file = (policies: string) => `
binds: [{port: 8080, listeners: [{routes: [{backends: [{service: {name: ns/app.test, port: 80}}]}]}]}]
services: [{name: app, namespace: ns, hostname: app.test, vips: [], ports: {"80": 1}}]
workloads: [{workloadIps: [127.0.0.1], namespace: ns, services: {ns/app.test: {"80": ${upstream.port}}}}]
policies:\n${policies}`
    const whole = modifier('whole', '{backend: {service: {namespace: ns, hostname: app.test}}}')
    const port = modifier('port', '{backend: {service: {namespace: ns, hostname: app.test, port: 80}}}')
    const other = modifier('other', '{backend: {service: {namespace: ns, hostname: app.test, port: 81}}}')
    const seen = async (policies: string) => {
      await using gateway = await startGateway(file(policies))
      return fieldsOf((await (await fetch(gateway.url(8080))).json()) as { headers: string[] })
    }
    expect(await seen(`${whole}\n${other}`)).toEqual(['x-by: whole'])
    expect(await seen(`${port}\n${whole}`)).toEqual(['x-by: port'])
  })

  test('one provider of a backend, after the policies set there', async () => {
    await using upstream = await startUpstream(echo)
    const provider = `{name: p1, provider: {openAI: {}}, hostOverride: '${upstream.host}'`
    const file = (more: string) => `
binds: [{port: 8080, listeners: [{routes: [{policies: {ai: {routes: {/: passthrough}}}, backends: [{backend: /models}]}]}]}]
backends: [{name: models, ai: {groups: [{providers: [${provider}${more}}]}]}}]
policies:\n${modifier('section', '{backend: {backend: {name: models, section: p1}}}')}`
    const seen = async (more: string) => {
      await using gateway = await startGateway(file(more))
      return fieldsOf((await (await fetch(gateway.url(8080))).json()) as { headers: string[] })
    }
    expect(await seen('')).toEqual(['x-by: section'])
    expect(await seen(', policies: {requestHeaderModifier: {set: {x-by: inline}}}')).toEqual(['x-by: inline'])
  })

  test('the connections of a TCP route', async () => {
    const authority = createAuthority('test authority')
    const { cert, key } = createCertificate(authority, ['a.test'])
    const upstream = createServer({ cert, key }, echo).listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    onTestFinished(() => {
      upstream.close()
      upstream.closeAllConnections()
    })
    const file = (policies: string) => `
gateways: {default: {port: 8080, protocol: TCP}}
tcpRoutes: [{name: t, backends: [{host: '127.0.0.1:${(upstream.address() as AddressInfo).port}'}]}]
policies: [${policies}]`
    const status = async (policies: string) => {
      await using gateway = await startGateway(file(policies))
      return (await fetch(gateway.url(8080)).catch(() => undefined))?.status
    }
    const tls = 'policy: {backendTLS: {insecure: true}}'
    expect(await status('')).not.toBe(200)
    expect(await status(`{name: {name: p}, target: {route: {name: t}}, ${tls}}`)).toBe(200)
    expect(await status(`{name: {name: p}, target: {gateway: {gatewayName: default}}, ${tls}}`)).toBe(200)
  })
})

describe('expressions read the body they name', () => {
  const post = (url: string) => fetch(url, { method: 'POST', body: '{"who":"ann"}' })

  test('of a request, in a backend policy', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${upstream.host}',
  policies: {transformations: {request: {set: {x-who: 'json(request.body).who'}}}}}]}]}]}]`)
    expect(JSON.stringify(await (await post(gateway.url(8080))).json())).toContain('"x-who","ann"')
  })

  test('of a response, in a listener policy', async () => {
    await using upstream = await startUpstream((_, response) => response.end('{"who":"bob"}'))
    await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{
  policies: {transformations: {response: {set: {x-who: 'json(response.body).who'}}}},
  routes: [{backends: [{host: '${upstream.host}'}]}]}]}]`)
    expect((await post(gateway.url(8080))).headers.get('x-who')).toBe('bob')
  })
})

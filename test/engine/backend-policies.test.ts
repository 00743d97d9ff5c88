import { describe, expect, test } from 'vitest'
import { startGateway } from '../helpers/gateway.ts'
import { echo, startUpstream } from '../helpers/upstream.ts'

const one = (host: string, policies: string, route = '{}') => `
binds: [{port: 8080, listeners: [{routes: [{policies: ${route}, backends: [{host: '${host}', policies: ${policies}}]}]}]}]`
const fieldsOf = (body: { headers: string[] }) =>
  body.headers.flatMap((h, i) => (i % 2 === 0 && h.startsWith('x-') ? [`${h}: ${body.headers[i + 1]}`] : []))

describe('backend policies', () => {
  test('change the call after the route policies, and also the response', async () => {
    await using upstream = await startUpstream(echo)
    const policies = `{
      requestHeaderModifier: {set: {x-a: backend}, remove: [x-gone]},
      responseHeaderModifier: {set: {x-from: backend}},
      transformations: {request: {set: {x-b: '"path " + request.path'}}, response: {add: {x-code: 'string(response.code)'}}}}`
    const route = `{requestHeaderModifier: {set: {x-a: route, x-gone: '1'}}, urlRewrite: {path: {full: /new}}}`
    await using gateway = await startGateway(one(upstream.host, policies, route))
    const response = await fetch(gateway.url(8080))
    expect(fieldsOf((await response.json()) as { headers: string[] }).sort()).toEqual([
      'x-a: backend',
      'x-b: path /new',
    ])
    expect([response.headers.get('x-from'), response.headers.get('x-code')]).toEqual(['backend', '200'])
  })

  test('a redirect replaces the call', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(one(upstream.host, '{requestRedirect: {authority: {full: x.test}}}'))
    const response = await fetch(`${gateway.url(8080)}/p?q`, { redirect: 'manual' })
    expect([response.status, response.headers.get('location')]).toEqual([302, 'http://x.test/p?q'])
    expect(upstream.connections).toBe(0)
  })

  test('authorization rejects the call', async () => {
    await using upstream = await startUpstream(echo)
    const policies = `{authorization: {rules: ['request.headers["x-user"] == "ann"']}}`
    await using gateway = await startGateway(one(upstream.host, policies))
    const as = async (user: string) => (await fetch(gateway.url(8080), { headers: { 'x-user': user } })).status
    expect([await as('ann'), await as('bob')]).toEqual([200, 403])
  })

  test('a conditional transformation uses the first matching entry', async () => {
    await using upstream = await startUpstream(echo)
    const policies = `{transformations: {conditional: [
      {condition: 'request.path == "/a"', request: {set: {x-way: '"a"'}}, response: {set: {x-way: '"a"'}}},
      {request: {set: {x-way: '"other"'}}}]}}`
    await using gateway = await startGateway(one(upstream.host, policies))
    const seen = async (path: string) => {
      const response = await fetch(gateway.url(8080) + path)
      return [...fieldsOf((await response.json()) as { headers: string[] }), response.headers.get('x-way')]
    }
    expect(await seen('/a')).toEqual(['x-way: a', 'a'])
    expect(await seen('/b')).toEqual(['x-way: other', null])
  })

  test('of a named backend yield to those of the reference to it', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(`
backends: [{name: b, host: '${upstream.host}', policies: {requestHeaderModifier: {set: {x-named: '1'}}, responseHeaderModifier: {set: {x-named: '1'}}}}]
policies: [{name: {name: p}, target: {backend: {backend: {name: b}}}, policy: {requestHeaderModifier: {set: {x-targeted: '1'}}}}]
binds: [{port: 8080, listeners: [{routes: [
  {matches: [{path: {pathPrefix: /own}}], backends: [{backend: /b, policies: {requestHeaderModifier: {set: {x-inline: '1'}}}}]},
  {backends: [{backend: /b}]}]}]}]`)
    const seen = async (path: string) => {
      const response = await fetch(gateway.url(8080) + path)
      return [...fieldsOf((await response.json()) as { headers: string[] }), response.headers.get('x-named')]
    }
    expect(await seen('/own')).toEqual(['x-inline: 1', '1'])
    expect(await seen('/')).toEqual(['x-named: 1', '1'])
  })
})

describe('policies before route selection', () => {
  const targeted = (phase: string) => `
gateways: {default: {port: 8080}}
routes:
- {name: a, matches: [{path: {pathPrefix: /a}}], policies: {directResponse: {status: 200, body: a}}}
- {name: b, matches: [{path: {pathPrefix: /b}}], policies: {directResponse: {status: 200, body: b}}}
policies:
- {name: {name: way}, target: {gateway: {gatewayName: default}}, phase: ${phase}, policy: {transformations: {request: {set: {':path': '"/b"'}}}}}
`
  test('affect which route is selected', async () => {
    await using gateway = await startGateway(targeted('gateway'))
    expect(await (await fetch(`${gateway.url(8080)}/a`)).text()).toBe('b')
    await using later = await startGateway(targeted('route'))
    expect(await (await fetch(`${later.url(8080)}/a`)).text()).toBe('a')
  })

  test('reject requests that match no route, and response policies see the rejection', async () => {
    await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{
  policies: {authorization: {rules: ['request.headers["x-user"] == "ann"']}, transformations: {response: {set: {x-seen: 'string(response.code)'}}}},
  routes: [{matches: [{path: {exact: /here}}], policies: {directResponse: {status: 200, body: ok}}}]}]}]`)
    const as = async (user: string, path: string) => {
      const response = await fetch(gateway.url(8080) + path, { headers: { 'x-user': user } })
      return [response.status, response.headers.get('x-seen')]
    }
    expect(await as('bob', '/nowhere')).toEqual([403, null])
    expect(await as('ann', '/nowhere')).toEqual([404, '404'])
    expect(await as('ann', '/here')).toEqual([200, '200'])
  })

  test('run in addition to those of the route', async () => {
    await using upstream = await startUpstream(echo)
    await using gateway = await startGateway(`
binds: [{port: 8080, listeners: [{
  policies: {transformations: {request: {set: {x-gateway: '"1"'}}}},
  routes: [{policies: {transformations: {request: {set: {x-route: '"1"'}}}}, backends: [{host: '${upstream.host}'}]}]}]}]`)
    const body = (await (await fetch(gateway.url(8080))).json()) as { headers: string[] }
    expect(fieldsOf(body).sort()).toEqual(['x-gateway: 1', 'x-route: 1'])
  })
})

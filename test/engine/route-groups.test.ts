import { describe, expect, test } from 'vitest'
import { dumpOf } from '../../src/config/dump.ts'
import { startGateway } from '../helpers/gateway.ts'
import { echo, startUpstream } from '../helpers/upstream.ts'

const file = (routes: string, groups: string, more = '') => `
binds: [{port: 8080, listeners: [{routes: ${routes}}]}]
routeGroups: ${groups}
${more}`
const to = (group: string, prefix = '/', more = '') =>
  `{matches: [{path: {pathPrefix: '${prefix}'}}], backends: [{routeGroup: ${group}}]${more}}`
const says = (text: string, match: string, more = '') =>
  `{name: ${text}, matches: [{path: {pathPrefix: '${match}'}}], policies: {directResponse: {status: 200, body: ${text}}}${more}}`

const ask = async (url: string, headers: Record<string, string> = {}) => {
  const response = await fetch(url, { headers })
  return `${response.status} ${await response.text()}`
}

describe('a delegating route', () => {
  test('matches the request again against the routes of the group', async () => {
    const groups = `[{name: g, routes: [${says('a', '/p/a')}, ${says('host', '/p', ', hostnames: [h.test]')}, ${says('other', '/q')}]}]`
    await using gateway = await startGateway(file(`[${to('g', '/p')}]`, groups))
    const url = gateway.url(8080)
    expect(await ask(`${url}/p/a`)).toBe('200 a')
    expect(await ask(`${url}/p/b`)).toBe('404 route not found')
    expect(await ask(`${url}/q`)).toBe('404 route not found')
  })

  test('passes its policies on, and more specific ones override them', async () => {
    await using upstream = await startUpstream(echo)
    const backend = `backends: [{host: '${upstream.host}'}]`
    const groups = `[{name: g, routes: [
      {matches: [{path: {pathPrefix: /own}}], policies: {requestHeaderModifier: {set: {x-child: '1'}}}, ${backend}},
      {${backend}}]}]`
    const policies = `, policies: {requestHeaderModifier: {set: {x-parent: '1'}}, responseHeaderModifier: {set: {x-answer: '1'}}}`
    await using gateway = await startGateway(file(`[${to('g', '/', policies)}]`, groups))
    const seen = async (path: string) => {
      const response = await fetch(gateway.url(8080) + path)
      const { headers } = (await response.json()) as { headers: string[] }
      return [headers.filter(h => h.startsWith('x-')).join(), response.headers.get('x-answer')]
    }
    expect(await seen('/own')).toEqual(['x-child', '1'])
    expect(await seen('/')).toEqual(['x-parent', '1'])
  })

  test('runs no policy when no route of the group matches', async () => {
    const policies = `, policies: {responseHeaderModifier: {set: {x-answer: '1'}}}`
    await using gateway = await startGateway(
      file(`[${to('g', '/', policies)}]`, `[{name: g, routes: [${says('a', '/a')}]}]`),
    )
    const response = await fetch(`${gateway.url(8080)}/b`)
    expect([response.status, response.headers.get('x-answer')]).toEqual([404, null])
  })

  test('can point to a group that delegates again', async () => {
    const groups = `[{name: one, routes: [${to('two', '/x')}]}, {name: two, routes: [${says('deep', '/x/y')}]}]`
    await using gateway = await startGateway(file(`[${to('one')}]`, groups))
    expect(await ask(`${gateway.url(8080)}/x/y`)).toBe('200 deep')
    expect(await ask(`${gateway.url(8080)}/x`)).toBe('404 route not found')
  })

  test('is selected by weight', async () => {
    await using upstream = await startUpstream((_req, res) => res.end('host'))
    const routes = `[{backends: [{routeGroup: g, weight: 1}, {host: '${upstream.host}', weight: 3}]}]`
    const draws = [0.2, 0.3]
    const random = () => draws.shift() ?? 0
    await using gateway = await startGateway(file(routes, `[{name: g, routes: [${says('group', '/')}]}]`), { random })
    expect([await ask(gateway.url(8080)), await ask(gateway.url(8080))]).toEqual(['200 group', '200 host'])
  })

  test('rewrites the prefix matched in the group', async () => {
    await using upstream = await startUpstream(echo)
    const groups = `[{name: g, routes: [{matches: [{path: {pathPrefix: /p/a}}], policies: {urlRewrite: {path: {prefix: /z}}}, backends: [{host: '${upstream.host}'}]}]}]`
    await using gateway = await startGateway(file(`[${to('g', '/p')}]`, groups))
    expect(await ask(`${gateway.url(8080)}/p/a/b`)).toContain('"url":"/z/b"')
  })
})

describe('findings', () => {
  test.each([
    ['an unknown group', `[${to('gg')}]`, `[{name: g, routes: []}]`, /GW204 no route group is named `gg`/],
    ['a group that delegates to itself', `[${to('g')}]`, `[{name: g, routes: [${to('g')}]}]`, /GW210 .*: g → g/],
    [
      'a cycle across several groups',
      `[${to('a')}]`,
      `[{name: a, routes: [${to('b')}]}, {name: b, routes: [${to('a')}]}]`,
      /GW210 .*: a → b → a/,
    ],
    ['a cycle that no route reaches', '[]', `[{name: g, routes: [${to('g')}]}]`, /GW210 .*: g → g/],
    ['two groups with the same name', '[]', '[{name: g, routes: []}, {name: g, routes: []}]', /GW203 two route groups/],
    [
      'an unknown backend in a group that no route reaches',
      '[]',
      '[{name: g, routes: [{backends: [{backend: /nope}]}]}]',
      /GW201 no backend is named/,
    ],
  ])('%s', async (_name, routes, groups, finding) => {
    await expect(startGateway(file(routes, groups))).rejects.toThrow(finding)
  })

  test('a mistake in a shared group is reported once', async () => {
    const config = file(`[${to('g', '/a')}, ${to('g', '/b')}]`, `[{name: g, routes: [${to('g')}]}]`)
    const error = await startGateway(config).catch((e: Error) => e.message)
    expect(String(error).match(/GW210/g)).toHaveLength(1)
  })

  test('many paths through the groups do not multiply the work', async () => {
    const groups = Array.from(
      { length: 30 },
      (_, i) => `{name: g${i}, routes: [${to(`g${i + 1}`, '/a')}, ${to(`g${i + 1}`, '/b')}]}`,
    )
    await using gateway = await startGateway(
      file(`[${to('g0')}]`, `[${groups}, {name: g30, routes: [${says('end', '/a')}]}]`),
    )
    expect(await ask(`${gateway.url(8080)}/a`)).toBe('200 end')
    expect(dumpOf(gateway.gateway.snapshot!, 'test').routes.length).toBeLessThan(100)
  })
})

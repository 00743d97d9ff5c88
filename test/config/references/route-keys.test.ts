import { describe, expect, test } from 'vitest'
import { dumpOf } from '../../../src/config/dump.ts'
import { RouteKeys } from '../../../src/config/references/route-keys.ts'
import { startGateway } from '../../helpers/gateway.ts'

const route = (path: string, answer: string, more = '') =>
  `{name: app, matches: [${path}], policies: {directResponse: {status: 200, body: ${answer}}}${more}}`

describe('several routes with the same name, like the rules of an HTTPRoute', () => {
  test('have their own keys and backends', async () => {
    const to = (port: number) =>
      `{name: app, matches: [{path: {exact: /${port}}}], backends: [{host: '127.0.0.1:${port}'}]}`
    await using gateway = await startGateway(
      `binds: [{port: 80, listeners: [{name: web, routes: [${to(1)}, ${to(2)}, ${to(3)}]}]}]`,
    )
    const { routes, backends } = dumpOf(gateway.gateway.snapshot!, '1')
    const app = 'default/default/bind/80/web/default/app'
    expect(routes.map(({ key }) => key)).toEqual([app, `${app}#2`, `${app}#3`])
    expect(routes.map(each => each.backends[0]?.backend)).toEqual(backends.map(({ key }) => key))
    expect(backends.map(({ spec }) => spec)).toEqual(['127.0.0.1:1', '127.0.0.1:2', '127.0.0.1:3'])
  })

  test('are tried in file order unless one is more specific', async () => {
    const [x, y] = ['{path: {exact: /x}}', '{path: {exact: /y}}']
    const routes = [route(`${y}, ${x}`, 'first'), ...Array.from({ length: 10 }, (_, i) => route(x, `later-${i}`))]
    await using gateway = await startGateway(`binds: [{port: 80, listeners: [{routes: [${routes.join()}]}]}]`)
    expect(await (await fetch(`${gateway.url(80)}/x`)).text()).toBe('first')
  })
})

test('a name that looks numbered gets no duplicate key', () => {
  const keys = new RouteKeys()
  const names = ['app#2', 'app', 'app', 'app', 'app#2']
  expect(new Set(names.map(name => keys.keyOf('l', 'n', name))).size).toBe(names.length)
})

// One mistake as people make it: one finding, at its place, with the way out; and nothing in the corrected file. The
// mistake stands between ⟦ ⟧, what is right between the next pair.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Place } from '../commands/validate-place.ts'

let place: Place
beforeEach(() => {
  place = new Place()
})
afterEach(() => place.remove())

const GATEWAY = 'gateways: {default: {port: 3000}}\n'
const RESOURCE = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g, namespace: d}
spec: {gatewayClassName: c, listeners: [{name: h, port: 80, protocol: HTTP}]}
`
const ROUTE = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: d}
spec:
  rules:
`

const STRUCTURE: readonly (readonly [name: string, text: string, code: string, help: string])[] = [
  [
    'gateways as a list',
    'gateways:\n⟦- name: default\n  port: 3000⟧⟦  default:\n    port: 3000⟧\nroutes:\n- backends: [{host: "a:80"}]\n',
    'GW101',
    'each `name` as the key',
  ],
  [
    'listeners next to binds',
    'binds:\n- port: 3000\n⟦listeners⟧⟦  listeners⟧:\n  - routes:\n    - backends: [{host: "a:80"}]\n',
    'GW102',
    'move `listeners` into an item of `binds`',
  ],
  [
    'listeners at the top level',
    '⟦listeners:\n- port: 3000⟧⟦gateways: {default: {port: 3000}}⟧\nroutes:\n- backends: [{host: "a:80"}]\n',
    'GW102',
    'into one of `gateways`',
  ],
  [
    'backends inside policies',
    `${GATEWAY}routes:\n- policies:\n    timeout: {requestTimeout: 5s}\n⟦    backends⟧⟦  backends⟧: [{host: "a:80"}]\n`,
    'GW102',
    '`backends` is a field of route: indent it less',
  ],
  [
    'backends inside a match',
    `${GATEWAY}routes:\n- matches:\n  - path: {pathPrefix: /a}\n⟦    backends⟧⟦  backends⟧: [{host: "a:80"}]\n`,
    'GW102',
    'indent it less',
  ],
  [
    'a spec inside metadata',
    'apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata:\n  name: g\n⟦  spec⟧⟦spec⟧:\n    gatewayClassName: c\n    listeners: [{name: h, port: 80, protocol: HTTP}]\n',
    'GW102',
    '`spec` is a field of Gateway: indent it less',
  ],
  [
    'two resources in one document',
    `${RESOURCE}⟦⟧⟦---\n⟧${RESOURCE.replace('name: g,', 'name: h,')}`,
    'GW002',
    '`---`',
  ],
  [
    'an unresolved merge conflict',
    `${GATEWAY}routes:\n⟦<<<<<<< HEAD\n- backends: [{host: "a:80"}]\n=======\n- backends: [{host: "b:80"}]\n>>>>>>> topic⟧⟦- backends: [{host: "a:80"}]⟧\n`,
    'GW001',
    'keep one side',
  ],
  ['a port as an address', 'gateways: {default: {port: ⟦":3000"⟧⟦3000⟧}}\n', 'GW101', 'write the number alone: `3000`'],
  [
    'a percentage as a weight',
    `${GATEWAY}routes:\n- backends: [{host: "a:80", weight: ⟦50%⟧⟦50⟧}]\n`,
    'GW101',
    'write the number alone: `50`',
  ],
  [
    'a route policy at the top level',
    `${GATEWAY}⟦localRateLimit: [{maxTokens: 1}]\n⟧⟦⟧routes:\n- backends: [{host: "a:80"}]\n`,
    'GW102',
    'into the `policies` of a route',
  ],
  [
    'targets at the top level',
    '⟦targets⟧⟦mcp: {port: 3000, targets⟧: [{name: a, stdio: {cmd: node}}]⟦⟧⟦}⟧\n',
    'GW102',
    'move `targets` into `mcp`',
  ],
  [
    'a section from another tool',
    `⟦http: {port: 3000}⟧⟦gateways: {default: {port: 3000}}⟧\nroutes:\n- backends: [{host: "a:80"}]\n`,
    'GW102',
    'ports are `gateways` here',
  ],
  [
    'a string path in an HTTPRoute',
    `${ROUTE}  - matches: [{path: ⟦/api⟧⟦{value: /api}⟧}]\n    filters: [{type: RequestRedirect, requestRedirect: {hostname: b.test}}]\n`,
    'GW101',
    'write `{value: /api}`',
  ],
  [
    'a standalone-style path in an HTTPRoute',
    `${ROUTE}  - matches: [{path: {⟦pathPrefix: /api⟧⟦type: PathPrefix, value: /api⟧}}]\n    filters: [{type: RequestRedirect, requestRedirect: {hostname: b.test}}]\n`,
    'GW102',
    '`type: PathPrefix` and `value: …`',
  ],
]

test.each(STRUCTURE)('%s', async (_, marked, code, help) => {
  const wrong = marked.replaceAll(/⟦([^⟧]*)⟧⟦[^⟧]*⟧/g, '$1')
  place.write({ 'wrong.yaml': wrong, 'right.yaml': marked.replaceAll(/⟦[^⟧]*⟧⟦([^⟧]*)⟧/g, '$1') })
  const { out } = await place.validate(['wrong.yaml', '-o', 'json'])
  const told = JSON.parse(out).diagnostics.filter(({ severity }: { severity: string }) => severity !== 'info')
  expect(told.map((d: { code: string }) => d.code)).toEqual([code])
  expect(told[0].help).toContain(help)
  const line = marked.slice(0, marked.indexOf('⟦')).split('\n').length
  expect(told[0].range.start.line).toBe(line)
  const right = JSON.parse((await place.validate(['right.yaml', '-o', 'json'])).out).diagnostics
  expect(right.filter(({ severity }: { severity: string }) => severity !== 'info')).toEqual([])
})

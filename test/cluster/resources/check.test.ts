import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkResources } from '../../../src/cluster/resources/check.ts'
import { parseSource } from '../../../src/diagnostics/source.ts'

const folder = new URL('../../../fixtures/k8s/', import.meta.url)
const filesIn = (name: string) => readdirSync(new URL(`${name}/`, folder)).map(file => `${name}/${file}`)
const read = (file: string) => readFileSync(new URL(file, folder), 'utf8')

function check(texts: Readonly<Record<string, string>>, partial = false) {
  const inputs = Object.entries(texts).map(([file, text]) => ({ file, source: parseSource(file, text) }))
  return checkResources(inputs, { partial })
}
const mistakes = async (texts: Readonly<Record<string, string>>, partial = false) =>
  (await check(texts, partial)).diagnostics.map(({ code, severity, file, range, resource }) => ({
    code,
    severity,
    place: `${file}:${range.start.line}`,
    resource,
  }))

describe('fixtures', () => {
  test.each([...filesIn('ok'), ...filesIn('older')])('%s has no finding', async file => {
    expect((await check({ [file]: read(file) })).diagnostics.map(({ message }) => message)).toEqual([])
  })

  test('all valid files together have no finding', async () => {
    const texts = Object.fromEntries(filesIn('ok').map(file => [file, read(file)]))
    expect((await check(texts)).diagnostics.map(({ message }) => message)).toEqual([])
  })

  test.each(filesIn('err'))('%s has one finding, on the marked line', async file => {
    const text = read(file)
    const line = text.split('\n').findIndex(each => each.includes('# here')) + 1
    const found = await check({ [file]: text })
    expect(found.diagnostics.map(({ code, range }) => `${code} ${range.start.line}`)).toEqual([
      `${file.slice('err/'.length, 'err/GW000'.length)} ${line}`,
    ])
  })
})

const GATEWAY = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec:
  gatewayClassName: agentgateway
  listeners: [{name: http, port: 80, protocol: HTTP}]
`
const ROUTE = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app}
spec:
  parentRefs: [{name: edge}]
  rules:
  - backendRefs: [{name: app, port: 80}]
`
const SERVICE = `apiVersion: v1
kind: Service
metadata: {name: app}
spec:
  ports: [{port: 80}]
`

describe('several files', () => {
  test('are checked together', async () => {
    expect(await mistakes({ 'a.yaml': ROUTE, 'b.yaml': GATEWAY, 'c.yaml': SERVICE })).toEqual([])
  })

  test('a finding names its resource and points to the related file', async () => {
    const found = await check({ 'a.yaml': ROUTE, 'b.yaml': GATEWAY, 'c.yaml': SERVICE.replace('port: 80', 'port: 90') })
    expect(found.diagnostics).toMatchObject([
      {
        code: 'GW208',
        severity: 'error',
        file: 'a.yaml',
        resource: 'HTTPRoute default/app',
        path: 'spec.rules[0].backendRefs[0].port',
        related: [{ file: 'c.yaml' }],
      },
    ])
  })

  test('unresolved references are errors, or notes when the input is partial', async () => {
    expect(await mistakes({ 'a.yaml': ROUTE })).toEqual([
      { code: 'GW204', severity: 'error', place: 'a.yaml:5', resource: 'HTTPRoute default/app' },
      { code: 'GW204', severity: 'error', place: 'a.yaml:7', resource: 'HTTPRoute default/app' },
    ])
    expect((await mistakes({ 'a.yaml': ROUTE }, true)).map(({ severity }) => severity)).toEqual(['info', 'info'])
  })

  test('references within partial input are still checked', async () => {
    const text = ROUTE.replace('port: 80', 'port: 8080')
    expect(await mistakes({ 'a.yaml': text, 'c.yaml': SERVICE, 'b.yaml': GATEWAY }, true)).toMatchObject([
      { code: 'GW208', severity: 'error' },
    ])
  })

  test('a mistake in a resource does not suppress its reference checks', async () => {
    const text = ROUTE.replace('spec:\n', 'spec:\n  hostname: app.test\n')
    expect((await mistakes({ 'a.yaml': text, 'b.yaml': GATEWAY })).map(({ code }) => code)).toEqual(['GW102', 'GW204'])
  })
})

describe('documents', () => {
  test('unchecked kinds are counted, with a reason', async () => {
    const { documents, skipped, resources } = await check({
      'a.yaml': `${SERVICE}---\n# nothing\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app, namespace: web}\n---\nbinds: []\n`,
    })
    expect({ documents, resources: resources.length }).toEqual({ documents: 3, resources: 1 })
    expect(skipped).toEqual([
      { file: 'a.yaml', index: 3, kind: 'Deployment web/app', reason: 'kind is not checked' },
      { file: 'a.yaml', index: 4, kind: 'standalone configuration', reason: 'not a resource' },
    ])
  })

  test.each([
    ['items is not a list', 'apiVersion: v1\nkind: List\nitems: {}\n', 'items'],
    ['items is missing', 'apiVersion: v1\nkind: List\n', 'items'],
    ['an item is text', 'apiVersion: v1\nkind: List\nitems: [a]\n', 'items[0]'],
    ['a kind is a number', 'apiVersion: v1\nkind: 5\n', 'kind'],
    ['a list has other fields', 'apiVersion: v1\nkind: List\nitems: []\nspec: {}\n', 'spec'],
  ])('a list or resource is rejected when %s', async (_what, text, path) => {
    expect((await check({ 'a.yaml': text })).diagnostics.map(each => each.path)).toEqual([path])
  })

  test('nested lists are unpacked', async () => {
    const text = JSON.stringify({
      apiVersion: 'v1',
      kind: 'List',
      items: [
        { apiVersion: 'v1', kind: 'List', items: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'A' } }] },
      ],
    })
    expect((await check({ 'a.json': text })).diagnostics.map(({ path, resource }) => [path, resource])).toEqual([
      ['items[0].items[0].metadata.name', 'Namespace A'],
    ])
  })

  test('unreadable text gives no further findings', async () => {
    expect((await check({ 'a.yaml': 'kind: [\n' })).diagnostics).toEqual([])
  })

  test('text that looks like a variable stays text', async () => {
    const { resources } = await check({
      'a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: "$HOME ${USER}"}\n',
    })
    expect(resources[0]?.raw).toMatchObject({ data: { a: '$HOME ${USER}' } })
  })
})

describe('secrets', () => {
  test('no finding reveals the content of a Secret or an inline key', async () => {
    const { diagnostics } = await check({
      'a.yaml': `apiVersion: v1
kind: Secret
metadata: {name: s}
data: {token: "not base64: hunter2"}
---
apiVersion: agentgateway.dev/v1alpha1
kind: ProxyBackend
metadata: {name: b}
spec:
  dynamicForwardProxy: {}
  policies: {auth: {key: "${'hunter2'.repeat(300)}"}}
`,
    })
    expect(diagnostics.map(({ code }) => code)).toEqual(['GW106', 'GW110'])
    expect(JSON.stringify(diagnostics)).not.toContain('hunter2')
  })
})

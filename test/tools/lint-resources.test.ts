import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { CODES } from '../../src/diagnostics/codes.ts'
import { checkTexts } from '../../src/tools/check/check-documents.ts'
import { applySuppressions } from '../../src/tools/check/suppressions.ts'

const root = new URL('../../fixtures/lint-k8s/', import.meta.url)
const files = readdirSync(root).filter(name => name.endsWith('.yaml'))
const read = (name: string) => readFileSync(new URL(name, root), 'utf8')

/** Files without a Gateway are parts of a configuration. */
async function check(name: string, text: string) {
  const partial = !/^kind: Gateway$/m.test(text)
  const { diagnostics } = await checkTexts([{ file: name, text, lenient: false }], {
    cwd: '/',
    env: {},
    tier: 'offline',
    partial,
  })
  return diagnostics.filter(d => d.code !== 'GW601' && !(partial && d.severity === 'info' && d.code.startsWith('GW2')))
}

describe('a questionable resource has its lint finding once, at the marked line', () => {
  test.each(files)('%s', async name => {
    const text = read(name)
    const line = text.split('\n').findIndex(each => each.includes('# here')) + 1
    const found = await check(name, text)
    expect(found.map(d => `${d.range.start.line} ${d.code}`)).toEqual([`${line} ${name.split('.')[0]}`])
    expect(found[0]!.file).toBe(name)
  })
})

describe('the corrected twin has no finding', () => {
  test.each(files)('ok/%s', async name => {
    expect((await check(name, read(`ok/${name}`))).map(d => `${d.range.start.line} ${d.code}`)).toEqual([])
  })
})

describe('compiler errors are reported at the resource’s line, with its field names', () => {
  const policy = `apiVersion: agentgateway.dev/v1alpha1
kind: ProxyPolicy
metadata: {name: p, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: main}]
  traffic:
    jwtAuthentication:
      providers:
      - issuer: https://issuer.example.com
        jwks:
          inline: '{"keys":[{"kty":"oct","k":"c2VjcmV0","alg":"HS256","kid":"a"}]}'
`
  const gateway = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: main, namespace: default}
spec:
  gatewayClassName: proxy
  listeners: [{name: http, port: 8080, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app, namespace: default}
spec:
  parentRefs: [{name: main}]
  rules:
  - filters: [{type: RequestRedirect, requestRedirect: {hostname: example.com}}]
`
  test.each([
    ['a partial configuration', policy, 11],
    ['a complete configuration', `${policy}---\n${gateway}`, 11],
  ])('%s', async (_what, text, line) => {
    const found = await check('x.yaml', text)
    expect(found.map(({ code, range }) => [code, range.start.line])).toEqual([['GW602', line]])
    expect(found[0]!.message).toMatch(
      /^`spec\.traffic\.jwtAuthentication` is left out, and every request is refused in its place: key 1 .*symmetric/,
    )
  })
})

test('a selector without matches in the files is not an error', async () => {
  const backend = `apiVersion: agentgateway.dev/v1alpha1
kind: ProxyBackend
metadata: {name: tools}
spec:
  mcp:
    targets: [{name: all, selector: {services: {matchLabels: {mcp: 'true'}}}}]
`
  expect((await check('x.yaml', backend)).map(({ code }) => code)).toEqual([])
})

/** Lints that resources cannot give, and why. */
const NOT_THERE: Readonly<Record<string, string>> = {
  GW517: 'the default of `mode` is that of the public system',
  GW519: 'the API server refuses limits of 0',
  GW528: 'resources do not say where the admin server listens',
  GW529: 'no field of a resource is deprecated',
  GW530: 'resources cannot start programs',
  GW532: 'a Service stands before the port',
  GW537: 'the API server refuses backends beside a redirect',
  GW542: 'the API server refuses a limit of 0',
  GW544: 'GW404 tells which listeners take a route',
  GW550: 'key sets come from Services',
  GW552: 'the API server refuses such a prefix',
  GW556: 'resources do not say how much all bodies may take',
  GW557: 'two resources of one name are GW203',
  GW559: 'backends are Services',
  GW560: 'the API server refuses pseudo-headers',
  GW562: 'the API server refuses such a limit',
  GW565: 'the API server refuses such statuses',
  GW566: 'the API server refuses such filters together',
  GW569: 'the first of two entries for one name counts',
  GW572: 'the API server refuses an empty list of rules',
  GW573: 'resources cannot start programs',
  GW587: 'resources have no OpenAPI targets',
  GW588: 'resources have no OpenAPI targets',
  GW589: 'resources have no OpenAPI targets',
  GW591: 'the API server refuses a limit of 0',
  GW592: 'resources have no sign-in by browsers',
}

test('every lint that applies to resources has a fixture', () => {
  const shown = new Set(files.map(name => name.split('.')[0]))
  const lints = Object.keys(CODES).filter(code => code.startsWith('GW5'))
  expect(lints.filter(code => !shown.has(code) && NOT_THERE[code] === undefined)).toEqual([])
  expect(Object.keys(NOT_THERE).filter(code => shown.has(code))).toEqual([])
})

test('a comment in the resource silences a lint', async () => {
  const text = read('GW508.ext-auth.yaml').replace('# here', '# gwctl-ignore GW508: the check is advisory')
  const { kept, suppressed } = applySuppressions('a.yaml', text, await check('a.yaml', text))
  expect({ kept, codes: suppressed.map(each => each.diagnostic.code) }).toEqual({ kept: [], codes: ['GW508'] })
})

test('resources with errors are not linted', async () => {
  const text = read('GW508.ext-auth.yaml').replace('port: 9000', 'port: 90000')
  expect((await check('a.yaml', text)).map(d => d.code)).toEqual(['GW105'])
})

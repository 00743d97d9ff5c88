import { describe, expect, test } from 'vitest'
import { plainPaint } from '../../../src/diagnostics/paint.ts'
import { renderText } from '../../../src/diagnostics/render/text.ts'
import { checkTexts } from '../../../src/tools/check/check-documents.ts'

const options = { cwd: '/', env: {}, tier: 'offline', partial: true } as const

async function errors(text: string) {
  const { diagnostics } = await checkTexts([{ file: 'x.yaml', text, lenient: false }], options)
  return diagnostics.filter(({ severity }) => severity === 'error').map(({ code, path }) => `${code} ${path}`)
}

const policy = (more: string) => `apiVersion: agentgateway.dev/v1alpha1
kind: ProxyPolicy
metadata:
  name: guarded
spec:
  targetRefs:
  - group: gateway.networking.k8s.io
    kind: HTTPRoute
    name: tools
${more}`
const guard = (phase: string) => `  backend:
    mcp:
      guardrails:
        processors:
        - remote: {url: 'http://guard.test'}
          methods:
            tools/call: ${phase}
`

test('rejects text that an API server would read as a boolean', async () => {
  expect(await errors(policy(guard('Off')))).toEqual([
    'GW005 spec.backend.mcp.guardrails.processors[0].methods["tools/call"]',
  ])
  expect(await errors(policy(guard("'Off'")))).toEqual([])
})

test('reports an already invalid value once and never repeats a secret', async () => {
  const text = `backends:
- name: "010"
  host: 10.0.0.1:80
  policies: {backendAuth: {key: 0123}}
binds: [{port: 3_000, listeners: [{name: yes, routes: []}]}]
`
  const { diagnostics } = await checkTexts([{ file: 'x.yaml', text, lenient: false }], options)
  const told = diagnostics.map(
    ({ code, range, message }) => `${range.start.line}:${range.start.col} ${code} ${message}`,
  )
  expect(told.filter(each => /GW005|GW1/.test(each)).sort()).toEqual([
    '4:33 GW101 expected text or a map, found a number',
    '5:16 GW101 expected a whole number, found text',
    '5:42 GW005 `yes` is text in YAML 1.2 and true in YAML 1.1',
  ])
  expect(JSON.stringify(diagnostics)).not.toContain('123')
})

test('only warns for unchecked kinds, whose field may be a boolean', async () => {
  const pod = 'apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {hostNetwork: yes}\n'
  expect(await errors(`${policy('  traffic: {}\n')}---\n${pod}`)).toEqual([])
})

test('treats a null field as unset, like an API server', async () => {
  expect(await errors(policy('  traffic: {phase: null}\n  backend: null\n'))).toEqual([])
  expect(await errors(policy('  traffic: null\n'))).toEqual(['GW107 spec.traffic'])
})

test('a finding in Helm output names the template', async () => {
  const rendered = (name: string, text: string) => `---\n# Source: edge/templates/${name}.yaml\n${text}`
  const text = `${rendered('good', policy('  traffic: {}\n'))}${rendered('bad', 'apiVersion: v1\nkind: Secret\nmetadata: {nam: x}\n')}`
  const { diagnostics } = await checkTexts([{ file: '<stdin>', text, lenient: false }], options)
  const found = diagnostics.filter(({ severity }) => severity === 'error')
  expect(found).toMatchObject([{ code: 'GW102', template: 'edge/templates/bad.yaml', document: { index: 2, of: 2 } }])
  const report = { diagnostics: found, files: 1, documents: 2, skipped: [], textOf: () => text, cwd: '/' }
  expect(renderText(report, { paint: plainPaint })).toContain(
    '(document 2 of 2, edge/templates/bad.yaml, Secret default/(no name))',
  )
})

test('a finding in kustomize output names the base file', async () => {
  const annotation =
    '    config.kubernetes.io/origin: |\n      path: ../base/policy.yaml\n      repo: https://git.test/x\n'
  const text = policy('  traffik: {}\n').replace('  name: guarded\n', `  name: guarded\n  annotations:\n${annotation}`)
  const { diagnostics } = await checkTexts([{ file: '<stdin>', text, lenient: false }], options)
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toMatchObject([
    { code: 'GW102', template: '../base/policy.yaml', resource: 'ProxyPolicy default/guarded' },
  ])
})

describe('the syntax tier', () => {
  const found = async (text: string, tier: 'syntax' | 'offline') => {
    const checked = await checkTexts([{ file: 'x.yaml', text, lenient: false }], { ...options, tier, partial: false })
    return checked.diagnostics.map(({ code }) => code)
  }
  const standalone = (rule: string, port: string) => `binds:
- port: ${port}
  listeners:
  - routes:
    - policies: {authorization: {rules: ['${rule}']}}
      backends: [{backend: nowhere}]
`
  const route = (port: string) => `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: d}
spec: {parentRefs: [{name: nowhere}], rules: [{backendRefs: [{name: x, port: ${port}}]}]}
`

  test('finds invalid values and expressions in configs and resources', async () => {
    expect(await found(standalone('request.methd == "GET"', '80000'), 'syntax')).toEqual(['GW105', 'GW302'])
    expect(await found(route('70000'), 'syntax')).toEqual(['GW105'])
    expect(await found('binds: [', 'syntax')).toEqual(['GW001'])
  })

  test('does not check references or lint', async () => {
    for (const text of [standalone('request.method == "$NAME"', '8080'), route('80')]) {
      expect(await found(text, 'syntax')).toEqual([])
      expect(await found(text, 'offline')).toContain(text.includes('kind:') ? 'GW204' : 'GW201')
    }
  })
})

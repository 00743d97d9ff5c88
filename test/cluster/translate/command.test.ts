import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { offlineRuntime } from '../../../src/config/offline-runtime.ts'
import { loadInput } from '../../../src/tools/check/check.ts'
import {
  explainResource,
  renderSourceMap,
  renderTranslation,
  writeDataFiles,
} from '../../../src/tools/input/translate-resources.ts'
import { translated } from './translate.ts'

const GATEWAY = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: agentgateway
  listeners: [{name: http, port: 8080, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: app, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  rules:
    - backendRefs: [{group: agentgateway.dev, kind: ProxyBackend, name: be}]
`
const BACKEND = `---
apiVersion: agentgateway.dev/v1alpha1
kind: ProxyBackend
metadata: {name: be, namespace: shop}
spec:
  static: {host: 127.0.0.1, port: 9001}
  policies:
    auth: {secretRef: {name: key}}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: shop}
stringData: {Authorization: Bearer hunter2}
`
const POLICY = (name: string, target: string, inheritance = '') => `---
apiVersion: agentgateway.dev/v1alpha1
kind: ProxyPolicy
metadata: {name: ${name}, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, ${target}}]
${inheritance}  traffic: {timeouts: {request: 5s}}
`

describe('secrets', () => {
  test('are replaced by a reference', async () => {
    const made = await translated({ 'a.yaml': GATEWAY + BACKEND }, { withSecrets: false })
    const text = renderTranslation(made, 'yaml', true)
    expect(text).not.toContain('hunter2')
    expect(text).toContain('<redacted: Secret shop/key, key Authorization>')
  })

  test('are written on request, without the prefix the gateway adds', async () => {
    const made = await translated({ 'a.yaml': GATEWAY + BACKEND }, { withSecrets: true })
    expect(renderTranslation(made, 'yaml', false)).toContain('value: hunter2')
  })

  test('inline in a resource are redacted as well', async () => {
    const inline = BACKEND.replace('secretRef: {name: key}', 'key: hunter3')
    const made = await translated({ 'a.yaml': GATEWAY + inline }, { withSecrets: false })
    expect(renderTranslation(made, 'yaml', false)).not.toContain('hunter3')
  })

  test('become files readable only by their owner', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'translate-'))
    const https = GATEWAY.replace('protocol: HTTP}', 'protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}')
    const pem = (what: string) => `"-----BEGIN ${what}-----\\nAA==\\n-----END ${what}-----"`
    const secret = `---\napiVersion: v1\nkind: Secret\nmetadata: {name: cert, namespace: shop}\nstringData: {tls.crt: ${pem('CERTIFICATE')}, tls.key: ${pem('PRIVATE KEY')}}\n`
    const made = await translated({ 'a.yaml': https + BACKEND + secret }, { filesDir: 'files' })
    writeDataFiles(made, folder)
    const path = join(folder, 'files/secret/shop/cert/tls.key')
    expect(readFileSync(path, 'utf8')).toContain('PRIVATE KEY')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    rmSync(folder, { recursive: true })
  })
})

describe('origins', () => {
  test('are shown next to each part', async () => {
    const made = await translated({ 'k8s/a.yaml': GATEWAY + BACKEND })
    expect(renderTranslation(made, 'yaml', true)).toContain('# k8s/a.yaml:14 HTTPRoute/shop/app spec.rules[0]')
  })

  test('are also available as data', async () => {
    const made = await translated({ 'k8s/a.yaml': GATEWAY + BACKEND })
    const { parts } = JSON.parse(renderSourceMap(made)) as { parts: { path: string; line: number; field: string }[] }
    expect(parts).toContainEqual(
      expect.objectContaining({ path: 'backends[0].policies.backendAuth', line: 22, field: 'spec.policies.auth' }),
    )
  })

  test('are used as positions of findings about the file', async () => {
    const bad = BACKEND.replace('host: 127.0.0.1', "host: 'not a host'")
    const made = await translated({ 'k8s/a.yaml': GATEWAY + bad })
    const loss = made.losses.find(({ message }) => message.startsWith('ProxyBackend shop/be is left out'))
    expect(loss).toMatchObject({ file: 'k8s/a.yaml', resource: 'ProxyBackend shop/be' })
    expect(loss?.range.start.line).toBeGreaterThan(14)
  })
})

test('explain shows what applied, what was locked out and what it became', async () => {
  const lock = POLICY('wide', 'kind: Gateway, name: edge', '  strategy: {inheritance: Override}\n')
  const made = await translated({ 'a.yaml': GATEWAY + BACKEND + lock + POLICY('narrow', 'kind: HTTPRoute, name: app') })
  const text = explainResource('HTTPRoute/app', made)
  expect(text).toContain('Accepted=True (Accepted)')
  expect(text).toContain('kept: `timeout` of ProxyPolicy shop/wide')
  expect(text).toContain('left out: `timeout` of ProxyPolicy shop/narrow')
  expect(text).toContain('routes[0] ← spec.rules[0] (line 14)')
})

test('run accepts input without validate findings, and nothing else', async () => {
  const load = (text: string) =>
    loadInput({ file: 'a.yaml', text }, { cwd: '/', env: {}, tier: 'env' }, offlineRuntime())
  expect((await load(GATEWAY + BACKEND)).runnable).toBe(true)
  expect((await load(GATEWAY)).runnable).toBe(false)
})

test('one bad file does not keep the others from being translated', async () => {
  const folder = { 'good.yaml': GATEWAY + BACKEND, 'bad.yaml': 'kind: [', 'foreign.yaml': 'a: 1\n' }
  const made = await translated(folder)
  expect(renderTranslation(made, 'yaml', false)).toContain('namespace: shop')
  expect(made.diagnostics.map(({ file }) => file)).toContain('bad.yaml')
})

test.each([
  [
    'a missing Secret',
    GATEWAY.replace('protocol: HTTP}', 'protocol: HTTPS, tls: {certificateRefs: [{name: gone}]}}') + BACKEND,
    'GW204',
  ],
  [
    'a reference without its grant',
    `${GATEWAY.replace('name: be}', 'name: be, namespace: other}')}${BACKEND.replaceAll('namespace: shop', 'namespace: other')}`,
    'GW209',
  ],
])('%s is reported once', async (_what, text, code) => {
  const made = await translated({ 'a.yaml': text })
  expect(made.losses).not.toHaveLength(0)
  expect(made.report.diagnostics.map(each => each.code)).toEqual([code])
})

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BAD, GOOD, Place } from './validate-place.ts'

let place: Place
beforeEach(() => {
  place = new Place()
})
afterEach(() => place.remove())

const gateway = (name = 'main') => `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: ${name}, namespace: default}
spec: {gatewayClassName: agentgateway, listeners: [{name: http, port: 8080, protocol: HTTP}]}
---
`
const service = (name = 'web') => `apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: default}
spec: {ports: [{port: 80}]}
---
`
const route = (to = 'web', name = 'app') => `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: ${name}, namespace: default}
spec: {parentRefs: [{name: main}], rules: [{backendRefs: [{name: ${to}, port: 80}]}]}
---
`
const all = `${gateway()}${service()}${route()}`

describe('a repository with many tools', () => {
  const files = {
    'compose.yaml': 'services: {web: {image: nginx}}\n',
    '.github/workflows/ci.yml': 'on: [push]\njobs: {a: {runs-on: x, steps: []}}\n',
    'chart/Chart.yaml': 'apiVersion: v2\nname: app\nversion: 1.0.0\n',
    'chart/values.yaml': 'routes: [{name: x, backends: [{hots: "a:80"}]}]\n',
    'chart/templates/route.yaml': 'kind: HTTPRoute\nmetadata:\n  name: {{ .Values.name }}\n{{- if .x }}\n{{- end }}\n',
    'k8s/base/kustomization.yaml': 'resources: [all.yaml]\n',
    'k8s/base/all.yaml': all,
    'k8s/prod/kustomization.yaml': 'resources: [../base]\npatches: [{path: patch.yaml}]\n',
    'k8s/prod/patch.yaml':
      'apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: app}\nspec: {hosts: []}\n',
    'cloud.yaml': 'Resources: {A: {Name: !Ref X}}\nroutes: [}\n',
    'app.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {hostNetwork: yes}\n',
    'settings.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: apps}\ndata: {debug: yes}\n',
    'sealed.yaml': `${gateway('tls').replace('HTTP}', 'HTTPS, tls: {certificateRefs: [{name: s}]}}')}apiVersion: v1
kind: Secret
metadata: {name: s, namespace: default}
data: {tls.crt: "ENC[AES256_GCM,data:x]", tls.key: "ENC[AES256_GCM,data:x]"}
sops: {mac: x}
`,
    'gateway.yaml': GOOD,
  }

  test('has no findings, as a directory or with --hook', async () => {
    place.write(files)
    expect(await place.findings(['.', '--min-severity', 'warning'])).toEqual([])
    const hooked = await place.validate(['--partial', '--hook', ...Object.keys(files)])
    expect(hooked).toMatchObject({ code: 0 })
    expect(hooked.out).not.toMatch(/error|warning/)
  })

  test('has findings only for mistakes in gateway files, standalone and resources', async () => {
    place.write({ ...files, 'gw/bad.yaml': BAD, 'gw/route.yaml': route('nowhere', 'other') })
    expect(await place.findings(['.', '--min-severity', 'warning'])).toEqual([
      'gw/bad.yaml:6 GW102',
      'gw/route.yaml:4 GW204',
    ])
  })

  test('has explicitly named files checked, whatever they look like', async () => {
    place.write(files)
    expect(await place.findings(['compose.yaml'])).toEqual(['compose.yaml:1 GW009'])
    expect(await place.findings(['k8s/prod/patch.yaml', '--partial'])).toContain('k8s/prod/patch.yaml:4 GW102')
  })

  test('-v explains why a file was skipped', async () => {
    const { err } = await place.write(files).validate(['.', '-v'])
    expect(err).toContain('skipped compose.yaml: not for the gateway: a Compose file\n')
    expect(err).toContain('skipped chart/values.yaml: values of a Helm chart\n')
    expect(err).toContain('skipped k8s/prod/patch.yaml: a kustomize patch: check what `kustomize build` prints\n')
    expect(err).toContain('skipped cloud.yaml: not YAML, and nothing in it looks like a gateway configuration\n')
  })
})

test('a commit of one file has no findings for names defined elsewhere', async () => {
  place.write({ 'route.yaml': route() })
  expect(await place.validate(['--partial', '--hook', 'route.yaml'])).toMatchObject({
    code: 0,
    out: expect.not.stringContaining('GW204'),
  })
  expect(await place.findings(['--partial', 'route.yaml'])).toContain('route.yaml:4 GW204')
})

describe('overlays are separate sets', () => {
  test('folders with the same names do not conflict', async () => {
    place.write({ 'dev/all.yaml': all, 'prod/all.yaml': all })
    expect(await place.findings(['.'])).toEqual([])
    expect(await place.findings(['--hook', '--partial', 'dev/all.yaml', 'prod/all.yaml'])).toEqual([])
  })

  test('a name missing from one set is reported even if another set has it', async () => {
    place.write({ 'envs/dev/all.yaml': all, 'envs/prod/all.yaml': `${gateway()}${route()}` })
    const { out } = await place.validate(['.'])
    expect(out).toContain('envs/prod/all.yaml:9:')
    expect(out).toContain('in the set of `envs/prod`')
  })

  test('files above the overlays and in a base belong to every set', async () => {
    place.write({
      'envs/gateway.yaml': gateway(),
      'envs/base/service.yaml': service(),
      'envs/dev/a.yaml': route(),
      'envs/prod/a.yaml': route(),
    })
    expect(await place.findings(['.'])).toEqual([])
    place.write({ 'envs/base/route.yaml': route() })
    expect(await place.findings(['.'])).toEqual([])
  })

  test('duplicate names in one folder or file are still reported', async () => {
    place.write({ 'dev/a.yaml': all, 'dev/b.yaml': service(), 'prod/a.yaml': all })
    expect(await place.findings(['.'])).toEqual(['dev/b.yaml:3 GW203'])
    place.write({ 'dev/b.yaml': service('x') + service('x') })
    expect(await place.findings(['.', '--select', 'GW203'])).toEqual(['dev/b.yaml:8 GW203'])
  })

  test('.gwctl.yaml defines the sets', async () => {
    place.write({
      'gateway.yaml': gateway(),
      'app.dev.yaml': `${service()}${route()}`,
      'app.prod.yaml': route(),
    })
    expect(await place.findings(['.'])).toEqual(['app.prod.yaml:3 GW203'])
    place.write({
      '.gwctl.yaml': `sets:
- {name: dev, files: [gateway.yaml, '*.dev.yaml']}
- {name: prod, files: [gateway.yaml, '*.prod.yaml']}
`,
    })
    const { out } = await place.validate(['.'])
    expect(out).toContain('app.prod.yaml:4:')
    expect(out).toContain('in the set of `prod`')
    expect(out.match(/^error\[/gm)).toHaveLength(1)
    place.write({ '.gwctl.yaml': 'sets: [{name: a, file: x}]\n' })
    expect(await place.findings(['.'])).toContain('.gwctl.yaml:1 GW102')
  })
})

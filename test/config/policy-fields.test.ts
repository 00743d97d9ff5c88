import { expect, test } from 'vitest'
import { dumpOf } from '../../src/config/dump.ts'
import { load } from '../../src/config/load.ts'
import { offlineRuntime } from '../../src/config/offline-runtime.ts'
import { plainPaint } from '../../src/diagnostics/paint.ts'
import { effectiveText, findRoute } from '../../src/tools/dump/effective.ts'
import { unusedOf } from '../../src/tools/dump/unused.ts'

const FILE = `
binds:
- port: 8080
  listeners:
  - routes:
    - name: chat
      policies:
        cors: {allowOrigins: ["https://a.example"]}
        authorization:
          rules: [{allow: 'request.method == "GET"'}]
      backends: [{host: "127.0.0.1:1"}]
policies:
- name: {name: wide}
  target: {route: {name: chat}}
  policy:
    cors:
      allowOrigins: ["*"]
      maxAge: 5m
- name: {name: rules}
  target: {route: {name: chat}}
  policy:
    authorization:
      rules: [{deny: 'request.path == "/x"'}]
- name: {name: nowhere}
  target: {route: {name: other}}
  policy: {timeout: {requestTimeout: 5s}}
`

async function dumped() {
  const { snapshot } = await load('a.yaml', FILE, {
    env: {},
    tier: 'offline',
    runtime: offlineRuntime(),
    readReferenced: () => undefined,
  })
  return dumpOf(snapshot!, '1')
}

test('shows for each field which policy wins, is overridden, is lost or is combined', async () => {
  const dump = await dumped()
  const { cors, authorization } = findRoute(dump, 'chat').policies
  expect(cors?.fields).toEqual([
    { name: 'allowOrigins', wonBy: ['a.yaml:8:16'], overridden: ['a.yaml:17:7'] },
    { name: 'maxAge', wonBy: [], overridden: ['a.yaml:18:7'] },
  ])
  expect(authorization?.fields).toEqual([{ name: 'rules', wonBy: ['a.yaml:23:7', 'a.yaml:10:11'], overridden: [] }])
  expect(authorization?.spec).toEqual({
    rules: [{ deny: 'request.path == "/x"' }, { allow: 'request.method == "GET"' }],
  })
  const text = effectiveText(dump, findRoute(dump, 'chat'), plainPaint)
  expect(text).toContain('✓ allowOrigins: a.yaml:8:16 over a.yaml:17:7')
  expect(text).toContain('✗ maxAge: lost, a.yaml:18:7')
  expect(text).toContain('✓ rules: a.yaml:23:7 + a.yaml:10:11')
})

test('policies without a target are unused', async () => {
  expect(unusedOf(await dumped())).toContainEqual({
    kind: 'policy',
    name: 'default/nowhere',
    why: 'nothing is its target',
    origin: 'a.yaml:24:3',
  })
})

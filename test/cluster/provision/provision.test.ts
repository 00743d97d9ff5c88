import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { parametersSpec } from '../../../src/cluster/kinds/proxy-parameters.ts'
import type { KubeObject } from '../../../src/cluster/provision/replica.ts'
import { printYaml } from '../../../src/diagnostics/print-yaml.ts'
import { provisionTexts, renderObjects } from '../../../src/tools/provision/provision.ts'

const fixtures = new URL('../../../fixtures/provision/', import.meta.url)
const files = readdirSync(fixtures).filter(name => name.endsWith('.yaml'))
const read = (name: string) => readFileSync(new URL(name, fixtures), 'utf8')

// biome-ignore lint/suspicious/noExplicitAny: an object is read as anything that its reader expects
type Json = any

async function made(texts: readonly string[], newKey: () => string | undefined = () => undefined) {
  const inputs = texts.map((text, i) => ({ file: `${i}.yaml`, text }))
  const { gateways, report } = await provisionTexts(inputs, { cwd: '/', partial: false, version: '1.2.3', newKey })
  const objects = gateways.flatMap(each => each.objects)
  const object = (kind: string): Json => objects.find(each => each.kind === kind)
  return { objects, object, diagnostics: report.diagnostics }
}

const GATEWAY = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'Gateway',
  metadata: { name: 'edge', namespace: 'prod' },
  spec: {
    gatewayClassName: 'agentgateway',
    infrastructure: { parametersRef: { group: 'agentgateway.dev', kind: 'ProxyParameters', name: 'edge' } },
    listeners: [{ name: 'http', port: 8080, protocol: 'HTTP' }],
  },
}

function parameters(spec: Json, name = 'edge') {
  return {
    apiVersion: 'agentgateway.dev/v1alpha1',
    kind: 'ProxyParameters',
    metadata: { name, namespace: 'prod' },
    spec,
  }
}

const CLASS = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GatewayClass',
  metadata: { name: 'agentgateway' },
  spec: {
    controllerName: 'agentgateway.dev/agentgateway',
    parametersRef: { group: 'agentgateway.dev', kind: 'ProxyParameters', name: 'class', namespace: 'prod' },
  },
}

const withParameters = (spec: Json, classSpec?: Json, gateway: Json = GATEWAY) =>
  made(
    [gateway, parameters(spec), ...(classSpec ? [CLASS, parameters(classSpec, 'class')] : [])].map(each =>
      printYaml(each),
    ),
  )

describe('objects generated from', () => {
  test.each(files)('%s', async name => {
    const { objects, diagnostics } = await made([read(name)])
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
    await expect(renderObjects(objects)).toMatchFileSnapshot(new URL(`expected/${name}`, fixtures).pathname)
  })
})

test('the order of documents and files does not change the objects', async () => {
  for (const name of files) {
    const documents = parseAllDocuments(read(name)).map(document => document.toString())
    const { objects } = await made([read(name)])
    expect(renderObjects((await made(documents.toReversed())).objects)).toBe(renderObjects(objects))
  }
})

/** Paths of everything that stands in a spec, but for what overlays and rawConfig hold. */
function leaves(value: Json, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  const free = ['rawConfig', 'spec', 'labels', 'annotations'].includes(String(path.at(-1)))
  if (typeof value !== 'object' || free || Object.keys(value).length === 0) return [path]
  return Object.entries(value).flatMap(([key, item]) =>
    leaves(item, [...path, Array.isArray(value) ? Number(key) : key]),
  )
}

/** What only names something else, or says what holds anyway. */
const SILENT =
  /^workload\.kind$|^env\.\d+\.name$|\.name$|optional$|\.(key|fieldPath|resource|path|request)$|socketName$|enabled$/

test('every parameter field changes the generated objects', async () => {
  const met = new Set<string>()
  for (const name of ['deployment.yaml', 'daemon-set.yaml']) {
    const documents = parseAllDocuments(read(name)).map(document => document.toJS() as Json)
    const own = documents.findLast(({ kind }) => /Parameters$/.test(kind))
    const before = renderObjects((await made(documents.map(each => printYaml(each)))).objects)
    for (const path of leaves(own.spec)) {
      met.add(String(path[0]))
      if (SILENT.test(path.join('.'))) continue
      const changed = structuredClone(documents)
      let at = changed.findLast(({ kind }) => /Parameters$/.test(kind)).spec
      for (const step of path.slice(0, -1)) at = at[step]
      delete at[path.at(-1)!]
      const after = await made(changed.map(each => printYaml(each)))
      const errors = after.diagnostics.filter(({ severity }) => severity === 'error')
      expect(renderObjects(after.objects) !== before || errors.length > 0, path.join('.')).toBe(true)
    }
  }
  expect([...met].sort()).toEqual(Object.keys(parametersSpec.node.fields).sort())
})

describe('parameters on two levels', () => {
  test('merge image and logging by field, and replace shutdown and rawConfig', async () => {
    const { object } = await withParameters(
      {
        image: { tag: 'b' },
        logging: { format: 'json' },
        shutdown: { min: 1, max: 2 },
        rawConfig: { config: { mcp: { sessionTtl: '2m' } } },
      },
      {
        image: { registry: 'r.example.com', tag: 'a' },
        logging: { level: 'debug' },
        shutdown: { min: 3, max: 4 },
        rawConfig: { config: { histograms: 'native' } },
      },
    )
    const [container] = object('Deployment').spec.template.spec.containers
    expect(container.image).toBe('r.example.com/gwctl:b')
    expect(container.env).toContainEqual({ name: 'RUST_LOG', value: 'debug' })
    expect(object('Deployment').spec.template.spec.terminationGracePeriodSeconds).toBe(2)
    expect(parse(object('ConfigMap').data['config.yaml'])).toEqual({
      config: { mcp: { sessionTtl: '2m' }, logging: { format: 'json' } },
    })
  })

  test('merge resources by quantity, and an empty map clears them', async () => {
    const limits = { cpu: '2', memory: '1Gi' }
    const merged = await withParameters({ resources: { limits: { cpu: '1' } } }, { resources: { limits } })
    const [container] = merged.object('Deployment').spec.template.spec.containers
    expect(container.resources).toEqual({
      requests: { cpu: '100m', memory: '128Mi' },
      limits: { cpu: '1', memory: '1Gi' },
    })
    const cleared = await withParameters({ resources: { limits: {}, requests: {} } }, { resources: { limits } })
    const [other] = cleared.object('Deployment').spec.template.spec.containers
    expect(other.resources).toEqual({ requests: {}, limits: {} })
  })

  test('apply overlays one after the other, the class first', async () => {
    const overlay = (labels: Json, spec: Json) => ({ deployment: { metadata: { labels }, spec } })
    const { object } = await withParameters(
      overlay({ a: 'gateway' }, { replicas: 2 }),
      overlay({ a: 'class', b: 'class' }, { replicas: 1, paused: true }),
    )
    expect(object('Deployment').metadata.labels).toMatchObject({ a: 'gateway', b: 'class' })
    expect(object('Deployment').spec).toMatchObject({ replicas: 2, paused: true })
  })

  test('may set the kind on one level and the overlay on the other', async () => {
    const fits = await withParameters(
      { workload: { kind: 'DaemonSet' }, daemonSet: {} },
      { workload: { kind: 'Deployment' } },
    )
    expect(fits.diagnostics).toEqual([])
    const misfit = await withParameters({ workload: { kind: 'DaemonSet' } }, { deployment: { spec: { replicas: 1 } } })
    expect(misfit.diagnostics.map(({ code, path }) => [code, path])).toEqual([['GW111', 'spec.deployment']])
  })

  test('of a foreign class provision nothing', async () => {
    const foreign = { ...CLASS, spec: { controllerName: 'example.com/other' } }
    await expect(made([GATEWAY, foreign, parameters({})].map(each => printYaml(each)))).rejects.toThrow('no Gateway')
  })
})

describe('mistakes are reported at their position', () => {
  test.each<[string, Json, string, string]>([
    ['a pull policy', { image: { pullPolicy: 'Sometimes' } }, 'GW104', 'spec.image.pullPolicy'],
    ['a repository', { image: { repository: 'A B' } }, 'GW106', 'spec.image.repository'],
    ['a registry', { image: { registry: 'https://r' } }, 'GW106', 'spec.image.registry'],
    ['a tag', { image: { tag: 'a:b' } }, 'GW106', 'spec.image.tag'],
    ['a digest', { image: { digest: 'abc' } }, 'GW106', 'spec.image.digest'],
    ['a log filter', { logging: { level: 'loud' } }, 'GW106', 'spec.logging.level'],
    [
      'a limit below the request',
      { resources: { limits: { memory: '64Mi' } } },
      'GW111',
      'spec.resources.limits.memory',
    ],
    ['a variable', { env: [{ name: 'A=B', value: 'c' }] }, 'GW106', 'spec.env[0].name'],
    [
      'a field of rawConfig',
      { rawConfig: { config: { adminAdress: 'x' } } },
      'GW102',
      'spec.rawConfig.config.adminAdress',
    ],
    [
      'a value of rawConfig',
      { rawConfig: { config: { mcp: { sessionTtl: 'soon' } } } },
      'GW106',
      'spec.rawConfig.config.mcp.sessionTtl',
    ],
    ['a service account spec', { serviceAccount: { spec: { secrets: [] } } }, 'GW102', 'spec.serviceAccount.spec'],
    ['an autoscaler without a maximum', { horizontalPodAutoscaler: {} }, 'GW103', 'spec.horizontalPodAutoscaler'],
    [
      'a container without a name',
      { deployment: { spec: { template: { spec: { containers: [{ image: 'a' }] } } } } },
      'GW103',
      'spec.deployment.spec.template.spec.containers[0]',
    ],
    ['a patch directive', { service: { spec: { $patch: 'remove' } } }, 'GW104', 'spec.service.spec.$patch'],
    ['an overlay of another kind', { daemonSet: {} }, 'GW111', 'spec.daemonSet'],
  ])('%s', async (_, spec, code, path) => {
    const { diagnostics } = await withParameters(spec)
    const errors = diagnostics.filter(({ severity }) => severity === 'error')
    expect([...new Set(errors.map(each => `${each.code} ${each.path}`))]).toEqual([`${code} ${path}`])
    expect(errors[0]!.range.start.line).toBeGreaterThan(1)
  })

  test('rawConfig sections that a cluster replica does not serve', async () => {
    const { diagnostics } = await withParameters({ rawConfig: { binds: [{ port: 9000, listeners: [] }] } })
    expect(diagnostics.map(({ code, path }) => [code, path])).toEqual([['GW602', 'spec.rawConfig.binds']])
  })

  test('missing parameters', async () => {
    const { diagnostics, objects } = await made([printYaml(GATEWAY)])
    expect(diagnostics.map(({ code }) => code)).toEqual(['GW204'])
    expect(objects).toEqual([])
  })

  test('addresses a load balancer cannot have, and ports the replica needs', async () => {
    const addresses = [{ value: '192.0.2.1' }, { value: '192.0.2.2' }]
    const listeners = [{ name: 'metrics', port: 15_020, protocol: 'HTTP' }]
    const { diagnostics } = await withParameters({}, undefined, {
      ...GATEWAY,
      spec: { ...GATEWAY.spec, addresses, listeners },
    })
    expect(diagnostics.map(({ code, path }) => [code, path]).sort()).toEqual([
      ['GW111', 'spec.addresses[1]'],
      ['GW202', 'spec.listeners[0].port'],
    ])
  })

  test('an invalid session key in use', async () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'edge-session-key', namespace: 'prod' },
      stringData: { key: 'short' },
    }
    const { diagnostics } = await made([GATEWAY, parameters({}), secret].map(each => printYaml(each)))
    expect(diagnostics.map(({ code, path }) => [code, path])).toEqual([['GW106', 'stringData.key']])
    expect(JSON.stringify(diagnostics)).not.toContain('short')
  })
})

describe('the session key', () => {
  const texts = [printYaml(GATEWAY), printYaml(parameters({}))]
  const of = ({ data }: KubeObject) => Buffer.from((data as Json).key, 'base64').toString()

  test('is left out of the Secret when none is known', async () => {
    const { object } = await made(texts)
    expect(object('Secret')).not.toHaveProperty('data')
    expect(object('Deployment').spec.template.metadata.annotations).not.toHaveProperty(['checksum/session-key'])
  })

  test('is generated only when no Secret holds one', async () => {
    const key = 'ab'.repeat(32)
    expect(of((await made(texts, () => key)).object('Secret'))).toBe(key)
    const held = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'edge-session-key', namespace: 'prod' },
      stringData: { key: 'cd'.repeat(32) },
    }
    expect(of((await made([...texts, printYaml(held)], () => key)).object('Secret'))).toBe('cd'.repeat(32))
  })

  test('is not managed when an environment variable provides it', async () => {
    const { objects, object } = await withParameters({ env: [{ name: 'SESSION_KEY', value: 'ab'.repeat(32) }] })
    expect(objects.some(({ kind }) => kind === 'Secret')).toBe(false)
    const [container] = object('Deployment').spec.template.spec.containers
    expect(container.env.filter(({ name }: Json) => name === 'SESSION_KEY')).toHaveLength(1)
  })
})

test('objects are owned by a Gateway that was read from a server', async () => {
  const gateway = { ...GATEWAY, metadata: { ...GATEWAY.metadata, uid: 'f1' } }
  const { objects } = await withParameters({}, undefined, gateway)
  for (const { metadata, kind } of objects) {
    const owners = kind.startsWith('Cluster')
      ? undefined
      : [expect.objectContaining({ kind: 'Gateway', name: 'edge', uid: 'f1', controller: true })]
    expect(metadata.ownerReferences).toEqual(owners)
  }
})

import { describe, expect, test } from 'vitest'
import { proxyBackend } from '../../../src/cluster/kinds/proxy-backend.ts'
import { proxyModel } from '../../../src/cluster/kinds/proxy-model.ts'
import { proxyParameters } from '../../../src/cluster/kinds/proxy-parameters.ts'
import { proxyPolicy } from '../../../src/cluster/kinds/proxy-policy.ts'
import type { ObjectNode } from '../../../src/schema/builder.ts'
import { renderTranslation } from '../../../src/tools/input/translate-resources.ts'
import { given } from './given-fields.ts'
import { leaves, type Path, type Single, singles } from './single-fields.ts'
import { translated } from './translate.ts'

const KEYS = [
  'Authorization',
  'accessKey',
  'secretKey',
  'clientId',
  'tenantId',
  'clientSecret',
  'credentials.json',
  'signingKey',
  'certificate',
  '.htaccess',
  'tls.crt',
  'tls.key',
  'ca.crt',
  'a',
]
const DATA = `stringData: {${KEYS.map(key => `${key}: v-${key}`).join(', ')}}`
/** Whatever a generated reference names is there under the name `a`. */
const AROUND = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {a: a}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: a, namespace: shop, labels: {a: a, b: b}}
spec:
  gatewayClassName: agentgateway
  listeners: [{name: a, port: 8080, protocol: HTTP, allowedRoutes: {kinds: [{kind: HTTPRoute}, {group: agentgateway.dev, kind: ProxyModel}]}}]
---
apiVersion: v1
kind: Service
metadata: {name: a, namespace: shop, labels: {a: a}}
spec: {ports: [{name: c, port: 80}, {name: b, port: 7, appProtocol: agentgateway.dev/mcp}]}
---
apiVersion: v1
kind: Secret
metadata: {name: a, namespace: shop, labels: {a: a}}
${DATA}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: shop, labels: {a: a}}
data: {ca.crt: v, a: '{"keyHash": "sha256:${'0'.repeat(64)}"}'}
---
apiVersion: v1
kind: Secret
metadata: {name: b, namespace: shop}
stringData: {b: v-b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: shop}
data: {b: '{"keyHash": "sha256:${'1'.repeat(64)}"}'}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: a, namespace: shop, labels: {a: a, b: b}}
spec:
  parentRefs: [{name: a}]
  rules: [{name: a, backendRefs: [{group: agentgateway.dev, kind: ProxyBackend, name: a}]}]
`
const BACKEND = `
---
apiVersion: agentgateway.dev/v1alpha1
kind: ProxyBackend
metadata: {name: a, namespace: shop}
spec: {static: {host: a.example, port: 80}}
`
const MODEL = `
---
apiVersion: agentgateway.dev/v1alpha1
kind: ProxyModel
metadata: {name: a, namespace: shop}
spec: {parentRefs: [{name: a}], provider: OpenAI}
`
const group = 'gateway.networking.k8s.io'

interface Subject {
  readonly kind: string
  readonly around: string
  singles(): Iterable<Single>
  readonly node: ObjectNode
}

const specOf = (schema: { readonly node: ObjectNode }) => schema.node.fields.spec!.schema.node as ObjectNode
const policySpec = specOf(proxyPolicy.schema)

function* policies(): Generator<Single> {
  for (const section of ['frontend', 'traffic', 'backend']) {
    const kind = section === 'frontend' ? 'Gateway' : 'HTTPRoute'
    for (const { path, value } of singles(policySpec.fields[section]!.schema.node)) {
      yield { path: [section, ...path], value: { targetRefs: [{ group, kind, name: 'a' }], [section]: value } }
    }
  }
}

const SUBJECTS: readonly Subject[] = [
  { kind: 'ProxyPolicy', around: BACKEND, singles: policies, node: policySpec },
  {
    kind: 'ProxyBackend',
    around: '',

    node: specOf(proxyBackend.schema),
    singles: () => singles(specOf(proxyBackend.schema)),
  },
  {
    kind: 'ProxyModel',
    around: BACKEND + MODEL,

    node: specOf(proxyModel.schema),
    singles: () => singles(specOf(proxyModel.schema)),
  },
  {
    kind: 'ProxyParameters',
    around: BACKEND,

    node: specOf(proxyParameters.schema),
    singles: () => singles(specOf(proxyParameters.schema)),
  },
]

async function outcome(kind: string, spec: unknown, around: string) {
  const name = kind === 'ProxyBackend' ? 'a' : 'x'
  // The generator's name a group that is not there.
  const { parentRefs } = spec as { readonly parentRefs?: readonly { readonly group?: string }[] }
  const madeUp = kind === 'ProxyModel' && (parentRefs === undefined || parentRefs[0]?.group === 'a')
  const parents = madeUp ? { ...(spec as object), parentRefs: [{ name: 'a' }] } : spec
  const resource = {
    apiVersion: 'agentgateway.dev/v1alpha1',
    kind,
    metadata: { name, namespace: 'shop' },
    spec: parents,
  }
  const made = await translated(
    { 'a.yaml': `${AROUND}${around}`, 'x.json': JSON.stringify(resource) },
    { filesDir: 'files' },
  )
  const report = made.report.diagnostics.filter(({ file }) => file === 'x.json')
  return {
    text: renderTranslation(made, 'yaml', false),
    report,
    messages: report.map(({ message }) => message).join('\n'),
  }
}

function without(value: unknown, path: Path): unknown {
  const copy = structuredClone(value) as Record<string | number, unknown>
  let at = copy
  for (const step of path.slice(0, -1)) at = at[step] as Record<string | number, unknown>
  delete at[path.at(-1)!]
  return copy
}

/** What names other resources is written by hand: made-up names select nothing. */
const SELECTION = new Set(['parentRefs', 'targetRefs', 'targetSelectors'])

/** The generated value means what is meant without it. */
const SAME = /^(traffic\.phase|mcp\.targets\.selector\..*|virtualModel\..*\.targets\.model)$/

/** The report names the field, or something that it is a part of. */
function isReported(report: readonly { readonly path: string; readonly code: string }[], path: Path): boolean {
  const names = ['spec', ...path].filter(step => typeof step === 'string').join('.')
  return report.some(({ path: at }) => {
    const told = at.replace(/\[(\d+)\]/g, '').replace(/\["([^"]*)"\]/g, '.$1')
    return (
      told !== '' && told !== 'spec' && (names === told || names.startsWith(`${told}.`) || told.startsWith(`${names}.`))
    )
  })
}

describe.each(SUBJECTS)('$kind', subject => {
  test('each single field is either in the output or in the report', async () => {
    const silent: string[] = []
    const seen = new Set<string>()
    const before = new Map<string, Awaited<ReturnType<typeof outcome>>>()
    const generated = [...subject.singles()].filter(({ path }) => !SELECTION.has(String(path[0])))
    for (const { path, value } of [...generated, ...given(subject.kind)]) {
      const name = path.filter(step => typeof step === 'string').join('.')
      seen.add(name)
      if (SAME.test(name)) continue
      const now = await outcome(subject.kind, value, subject.around)
      const rest = JSON.stringify(without(value, path))
      const then = before.get(rest) ?? (await outcome(subject.kind, JSON.parse(rest), subject.around))
      before.set(rest, then)
      const told = now.messages !== then.messages || isReported(now.report, path)
      const refused = now.report.filter(({ code }) => code.startsWith('GW1'))
      if (refused.length > 0) silent.push(`refused: ${name} ${refused[0]!.code} ${refused[0]!.message}`)
      if (now.text === then.text && !told) silent.push(`${name} ${JSON.stringify(value).slice(0, 160)}`)
    }
    expect(silent).toEqual([])
    const all = new Set(leaves(subject.node))
    const missed = [...all].filter(leaf => ![...seen].some(name => name === leaf || name.startsWith(`${leaf}.`)))
    // What it changes is in the policies below: there are fixtures for it.
    const open = missed.filter(leaf => leaf !== 'strategy.inheritance')
    expect(open).toEqual([])
  })
})

import type { Path } from '../../diagnostics/diagnostic.ts'
import { asFields, asText, type Fields } from '../../schema/untyped.ts'
import { labelsOf, type ReportResource, type ResourceGraph, selects } from './graph.ts'
import { labelOf, type Resource } from './resource.ts'

/** Checks the entries of Secrets and ConfigMaps that provide API keys to policies. */
export function checkApiKeys(graph: ResourceGraph, report: ReportResource): void {
  const seen = new Set<Resource>()
  for (const policy of graph.list('ProxyPolicy')) {
    const auth = asFields(asFields(asFields(policy.raw.spec)?.traffic)?.apiKeyAuthentication)
    if (!auth) continue
    for (const holder of holdersOf(auth, policy, graph)) {
      if (seen.has(holder)) continue
      seen.add(holder)
      checkEntries(holder, policy, report)
    }
  }
}

function holdersOf(auth: Fields, policy: Resource, graph: ResourceGraph): readonly Resource[] {
  const name = asText(asFields(auth.secretRef)?.name)
  const secret = name === undefined ? undefined : graph.find('Secret', policy.namespace, name)
  const selected = [
    ['Secret', auth.secretSelector],
    ['ConfigMap', auth.configMapSelector],
  ].flatMap(([kind, selector]) => {
    const matchLabels = asFields(asFields(selector)?.matchLabels) as Readonly<Record<string, string>> | undefined
    return matchLabels
      ? graph.list(kind as string, policy.namespace).filter(each => selects({ matchLabels }, labelsOf(each)))
      : []
  })
  return secret ? [secret, ...selected] : selected
}

/** Messages name the entry, never its content. */
function checkEntries(holder: Resource, policy: Resource, report: ReportResource): void {
  const hashesOnly = holder.kind.kind === 'ConfigMap'
  for (const [key, text, path] of entriesOf(holder)) {
    const message = entryProblem(text, hashesOnly)
    if (message === undefined) continue
    report({
      resource: holder,
      code: 'GW111',
      message: `the entry \`${key}\` is not an API key: ${message}`,
      path,
      at: 'value',
      elsewhere: [
        {
          resource: policy,
          path: [...policy.path, 'spec', 'traffic', 'apiKeyAuthentication'],
          message: `${labelOf(policy)} takes keys from here`,
        },
      ],
    })
  }
}

function entriesOf(holder: Resource): readonly (readonly [key: string, text: string, path: Path])[] {
  const encoded = holder.kind.kind === 'Secret'
  return ['data', 'stringData'].flatMap(field =>
    Object.entries(asFields(holder.raw[field]) ?? {}).flatMap(([key, value]) => {
      if (typeof value !== 'string') return []
      const text = encoded && field === 'data' ? Buffer.from(value, 'base64').toString('utf8') : value
      return [[key, text, [...holder.path, field, key]] as const]
    }),
  )
}

function entryProblem(text: string, hashesOnly: boolean): string | undefined {
  const entry = parseObject(text)
  if (!entry) return hashesOnly ? 'in a ConfigMap it must be a JSON object with `keyHash`' : undefined
  if (hashesOnly && entry.key !== undefined)
    return 'a ConfigMap must not hold the key itself: write its hash to `keyHash`'
  if (entry.keyHash === undefined) return entry.key === undefined ? 'it has neither `key` nor `keyHash`' : undefined
  if (entry.key !== undefined) return 'it has both `key` and `keyHash`'
  return typeof entry.keyHash === 'string' && /^sha256:[0-9a-fA-F]{64}$/.test(entry.keyHash)
    ? undefined
    : '`keyHash` must be `sha256:` and 64 hexadecimal digits'
}

function parseObject(text: string): Fields | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    return asFields(JSON.parse(text))
  } catch {
    return undefined
  }
}

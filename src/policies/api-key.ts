// Admits requests with a known key and exposes its metadata as `apiKey` (specification, Inbound: API key).

import { hash } from 'node:crypto'
import { createCredentialReader } from '../auth/credential.ts'
import { GatewayError } from '../http/errors.ts'
import type { AuthFacts, Exchange } from '../http/exchange.ts'
import { def, type Infer, json, list, map, object, oneOf, opt, req, secret, string } from '../schema/builder.ts'
import { credentialSource, secretRef } from '../schema/resource-references.ts'
import { labelKeyProblem, labelValue } from '../schema/resource-scalars.ts'
import { asFields, asItems, asText, type Fields } from '../schema/untyped.ts'
import { type ClusterContext, type ClusterObject, defined, lower, type Policies } from './parts/cluster-form.ts'
import { convertLocation, readLocation } from './parts/credential-location.ts'
import { AUTH_MODES } from './parts/issuers.ts'
import { bodiesFor } from './parts/request-body.ts'
import { type CompileContext, definePolicy } from './policy.ts'

const entry = object(
  'API key',
  {
    key: opt(secret({ max: 2048 }), 'The key itself.'),
    keyHash: opt(
      string({ pattern: /^sha256:[0-9a-fA-F]{64}$/, form: '`sha256:` and 64 hexadecimal digits' }),
      'The SHA-256 of the key, which keeps the key out of the file.',
    ),
    metadata: opt(json, 'Available to later expressions as `apiKey`.'),
    allowedModels: opt(
      list(string({ min: 1, pattern: /^\*?[^*]*$|^[^*]*\*$/, form: 'a name, with at most one `*` at one end' })),
      'Models of `llm` that the key may request and list; `gpt-*` matches by prefix. All when unset, none when empty.',
    ),
  },
  { exactlyOneOf: [['key', 'keyHash']] },
)

const schema = object('apiKey', {
  keys: req(list(entry), 'Accepted keys.'),
  mode: def(
    oneOf(['strict', 'optional', 'permissive'], {
      Strict: 'strict',
      Optional: 'optional',
      Permissive: 'permissive',
    }),
    'strict',
    '`strict`: a valid key is required. `optional`: requests without one pass. `permissive`: all requests pass.',
    { spec: 'Inbound: API key' },
  ),
  location: opt(readLocation, 'Where to read the key; unset: `Authorization: Bearer`.', {
    aliases: ['authorizationLocation'],
  }),
})
type Spec = Infer<typeof schema>
type KeyFacts = NonNullable<AuthFacts['apiKey']>

const dataSelector = (kind: string) =>
  object(
    'label selector',
    { matchLabels: req(map(labelValue, { keys: labelKeyProblem }), 'Labels that they must have.') },
    { refers: { to: 'selector', kind } },
  )
const inCluster = object(
  'API key authentication',
  {
    mode: def(oneOf(AUTH_MODES), 'Strict', 'What happens without a valid credential.'),
    secretRef: opt(secretRef(), 'A Secret whose entries are keys.'),
    secretSelector: opt(dataSelector('Secret'), 'Secrets whose entries are keys.'),
    configMapSelector: opt(dataSelector('ConfigMap'), 'ConfigMaps whose entries are hashes of keys.'),
    location: opt(credentialSource, 'Where to read the key; `Authorization: Bearer` when unset.'),
  },
  { exactlyOneOf: [['secretRef', 'secretSelector', 'configMapSelector']] },
)

export const apiKey = definePolicy({
  name: 'apiKey',
  doc: "Lets requests with a known key pass; the key's metadata is `apiKey` in expressions.",
  spec: 'Inbound: API key',
  attach: ['listener', 'route'],
  schema,
  cluster: [
    {
      section: 'traffic',
      member: 'apiKeyAuthentication',
      field: opt(inCluster, 'Verifies API keys.'),
      convert: convertApiKeys,
    },
  ],
  asksFor: 'key',
  probe: spec => ({ keys: asItems(asFields(spec)?.keys).map(({ metadata }) => asFields(metadata) ?? {}) }),
  guards: true,
  compile(spec, ctx) {
    const { mode } = spec
    if (spec.location) ctx.hides(spec.location)
    const credential = createCredentialReader(spec.location ?? { header: { name: 'authorization', prefix: 'Bearer ' } })
    const known = indexKeys(spec, ctx)
    const { standIns } = ctx.runtime
    const read = standIns ? (x: Exchange) => credential.read(x) ?? standIns.apiKeyOf(x, known) : credential.read
    function authenticate(x: Exchange): undefined {
      const sent = read(x)
      if (sent === undefined) {
        if (mode === 'strict') throw new GatewayError('apiKey', { detail: 'no API Key found' })
        return
      }
      const metadata = known.get(digestOf(sent))
      if (metadata === undefined) {
        if (mode !== 'permissive') throw new GatewayError('apiKey', { detail: 'invalid credentials' })
        return
      }
      x.auth.apiKey = { ...metadata, key: sent }
      credential.strip(x)
    }
    return { request: authenticate, ...bodiesFor([spec.location?.expression], ctx.limits) }
  },
})

/** By hash: lookups take as long for a wrong key as for a right one, and no key is retained. */
function indexKeys({ keys }: Spec, ctx: CompileContext): ReadonlyMap<string, KeyFacts> {
  const index = new Map<string, KeyFacts>()
  const { standIns } = ctx.runtime
  for (const [i, { key, keyHash, metadata, allowedModels }] of keys.entries()) {
    const digest = keyHash === undefined ? digestOf(key as string) : keyHash.slice('sha256:'.length).toLowerCase()
    if (index.has(digest)) {
      const message = 'this key is in the list already'
      ctx.report({ code: 'GW203', message, path: ['keys', i], at: 'value' })
    }
    const facts = { ...(isObject(metadata) ? metadata : {}), ...(allowedModels && { allowedModels }) }
    index.set(digest, facts)
    if (standIns) index.set(digestOf(standIns.apiKeyFor(digest)), facts)
  }
  return index
}

function digestOf(key: string): string {
  return hash('sha256', key, 'hex')
}

function isObject(value: unknown): value is KeyFacts {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Keys are converted to hashes, so that the file contains no secret and still accepts them. */
function convertApiKeys(part: Fields, ctx: ClusterContext): Policies {
  const found = holdersOf(part, ctx).flatMap(holder =>
    ctx.entriesOf(holder).map(({ key, text }) => convertEntry(holder, key, text.trim(), ctx)),
  )
  const keys = found.filter(each => each !== undefined)
  keys.sort((a: Policies, b: Policies) => (String(a.keyHash) < String(b.keyHash) ? -1 : 1))
  return defined({ keys, mode: lower(part.mode ?? 'Strict'), location: convertLocation(part.location) })
}

function holdersOf(part: Fields, ctx: ClusterContext): readonly ClusterObject[] {
  const ref = asFields(part.secretRef)
  if (ref) return [ctx.secrets.secret(String(ref.name)) ?? []].flat()
  const kind = part.secretSelector ? 'Secret' : 'ConfigMap'
  const labels = asFields(asFields(part.secretSelector ?? part.configMapSelector)?.matchLabels)
  return ctx.labelled(kind, { ...labels } as Record<string, string>)
}

function convertEntry(holder: ClusterObject, entry: string, text: string, ctx: ClusterContext): Policies | undefined {
  const where = `${holder.kindName} ${holder.namespace}/${holder.name}, key ${entry}`
  const parsed = text.startsWith('{') ? parseJson(text) : { key: text }
  const hashed = asText(parsed?.keyHash)
  const key = asText(parsed?.key)
  if (!parsed || (hashed === undefined && key === undefined)) {
    ctx.errors.push(`${where} holds no API key`)
    return undefined
  }
  if (hashed === undefined && holder.kind.kind === 'ConfigMap') {
    ctx.errors.push(`${where} holds a raw key: a ConfigMap takes only hashes`)
    return undefined
  }
  const keyHash = hashed ?? `sha256:${digestOf(key as string)}`
  return defined({ keyHash, metadata: parsed.metadata, allowedModels: parsed.allowedModels })
}

function parseJson(text: string): Fields | undefined {
  try {
    return asFields(JSON.parse(text))
  } catch {
    return undefined
  }
}

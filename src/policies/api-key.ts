// Lets requests with a known key pass and shows the key's metadata as `apiKey` (specification, Inbound: API key).
import { hash } from 'node:crypto'
import { createCredentialReader } from '../auth/credential.ts'
import { GatewayError } from '../http/errors.ts'
import type { AuthFacts, Exchange } from '../http/exchange.ts'
import { def, type Infer, json, list, object, oneOf, opt, req, secret, string } from '../schema/builder.ts'
import { readLocation } from './parts/credential-location.ts'
import { bodiesFor } from './parts/request-body.ts'
import { type CompileContext, definePolicy } from './policy.ts'

const entry = object(
  'API key',
  {
    key: opt(secret({ max: 2048 }), 'The key itself.'),
    keyHash: opt(
      string({ pattern: /^sha256:[0-9a-fA-F]{64}$/, form: '`sha256:` and 64 hexadecimal digits' }),
      'The SHA-256 of the key, so that the file does not hold it.',
    ),
    metadata: opt(json, 'Shown to later expressions as `apiKey`.'),
  },
  { exactlyOneOf: [['key', 'keyHash']] },
)

const schema = object('apiKey', {
  keys: req(list(entry), 'The keys that are accepted.'),
  mode: def(
    oneOf(['strict', 'optional', 'permissive'], {
      Strict: 'strict',
      Optional: 'optional',
      Permissive: 'permissive',
    }),
    'strict',
    '`strict`: a valid key is needed. `optional`: requests without one pass. `permissive`: all requests pass.',
    { spec: 'Inbound: API key' },
  ),
  location: opt(readLocation, 'Where the key is; unset: `Authorization: Bearer`.', {
    aliases: ['authorizationLocation'],
  }),
})
type Spec = Infer<typeof schema>
type KeyFacts = NonNullable<AuthFacts['apiKey']>

export const apiKey = definePolicy({
  name: 'apiKey',
  doc: "Lets requests with a known key pass; the key's metadata is `apiKey` in expressions.",
  spec: 'Inbound: API key',
  attach: ['listener', 'route'],
  schema,
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

/** By hash: looking a key up takes as long for a wrong one as for a right one, and no key is kept. */
function indexKeys({ keys }: Spec, ctx: CompileContext): ReadonlyMap<string, KeyFacts> {
  const index = new Map<string, KeyFacts>()
  const { standIns } = ctx.runtime
  for (const [i, { key, keyHash, metadata }] of keys.entries()) {
    const digest = keyHash === undefined ? digestOf(key as string) : keyHash.slice('sha256:'.length).toLowerCase()
    if (index.has(digest)) {
      const message = 'this key is in the list already'
      ctx.report({ code: 'GW203', message, path: ['keys', i], at: 'value' })
    }
    const facts = isObject(metadata) ? metadata : {}
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

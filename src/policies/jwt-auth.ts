// Admits requests with a valid JSON Web Token and exposes its claims as `jwt` (specification, Inbound: JWT).

import { Introspection } from '../auth/introspection.ts'
import type { JwtProvider } from '../auth/jwt.ts'
import { type KeySource, NO_KEY_SOURCE } from '../auth/key-source.ts'
import type { Path } from '../diagnostics/diagnostic.ts'
import {
  def,
  type Infer,
  json,
  list,
  map,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  req,
  serverRule,
  string,
} from '../schema/builder.ts'
import { credentialSource, remoteKeySet } from '../schema/resource-references.ts'
import { problem } from '../schema/rules.ts'
import { duration, fileOrInline, longString, shortString, url } from '../schema/scalars.ts'
import { asFields, asItems, type Fields } from '../schema/untyped.ts'
import { type ClusterContext, defined, lower, type Policies, strings } from './parts/cluster-form.ts'
import { convertLocation, readLocation } from './parts/credential-location.ts'
import { AUTH_MODES, IDENTITY_PROVIDERS, keySetCache } from './parts/issuers.ts'
import { jwks, openKeys, optionalTls, tlsField } from './parts/key-sets.ts'
import { bodiesFor } from './parts/request-body.ts'
import { secretText } from './parts/secret-text.ts'
import { acceptedKeys, tokenCheck, tokenMode } from './parts/token-check.ts'
import { type CompileContext, definePolicy } from './policy.ts'

const options = object('jwtValidationOptions', {
  requiredClaims: def(
    list(shortString),
    ['exp'],
    'Claims that a token must have; an `exp` is always checked if present.',
  ),
})
const audiences = list(longString, { min: 1, max: 64 })
const introspection = object('token introspection', {
  url: req(url(), 'The introspection endpoint.'),
  clientId: req(string({ min: 1 }), 'Client id of the gateway.'),
  clientSecret: req(fileOrInline({ secret: true }), 'Its secret, sent as HTTP Basic credentials.'),
  backendTLS: tlsField,
  cacheDuration: def(duration, '10s', 'How long a result is cached; a revoked token is accepted until then.'),
})
const provider = object(
  'JWT provider',
  {
    issuer: req(shortString, 'The `iss` of its tokens.'),
    audiences: opt(audiences, 'Accepted `aud` values; unset: any audience.'),
    jwks: opt(jwks, 'Its keys.'),
    introspection: opt(introspection, 'Token introspection at the issuer (RFC 7662); at most one provider has it.'),
    jwtValidationOptions: opt(options, 'What tokens must contain.'),
  },
  { exactlyOneOf: [['jwks', 'introspection']] },
)

const schema = object(
  'jwtAuth',
  {
    mode: def(
      tokenMode,
      'strict',
      '`strict`: a valid token is required. `optional`: requests without one pass. `permissive`: all requests pass.',
      { spec: 'Inbound: JWT' },
    ),
    location: opt(readLocation, 'Where to read the token; unset: `Authorization: Bearer`.', {
      aliases: ['authorizationLocation'],
    }),
    issuer: opt(shortString, 'The `iss` of the tokens.'),
    audiences: opt(audiences, 'Accepted `aud` values; unset: any audience.'),
    jwks: opt(jwks, 'The keys of the issuer.'),
    introspection: opt(introspection, 'Token introspection at the issuer (RFC 7662).'),
    jwtValidationOptions: opt(options, 'What tokens must contain.'),
    providers: opt(list(provider, { min: 1, max: 64 }), 'Several issuers.'),
  },
  {
    exactlyOneOf: [['issuer', 'providers']],
    atMostOneOf: [
      ['jwks', 'introspection', 'providers'],
      ['audiences', 'providers'],
      ['jwtValidationOptions', 'providers'],
    ],
    check: keysOrIntrospection,
  },
)
type Spec = Infer<typeof schema>
type ProviderSpec = Infer<typeof provider>

const clusterKeySet = object(
  'key set',
  {
    remote: opt(remoteKeySet(keySetCache), 'Fetched from a server.'),
    inline: opt(string({ min: 2, max: 65536 }), 'A JSON Web Key Set.'),
  },
  { exactlyOneOf: [['remote', 'inline']] },
)
const clusterIssuer = object('JWT provider', {
  issuer: req(shortString, 'The `iss` claim.'),
  audiences: opt(list(shortString, { min: 1, max: 64 }), 'Accepted `aud` claims; any when unset.'),
  jwks: req(clusterKeySet, 'The keys that sign tokens.'),
})
const mcpMetadata = object('JWT settings for MCP', {
  resourceMetadata: opt(map(json), 'Metadata of the protected resource.'),
  provider: opt(oneOf(IDENTITY_PROVIDERS), 'The identity provider, if it deviates from the protocol.'),
  clientId: opt(string(), 'The client returned to registrations.'),
})
const inCluster = object(
  'JWT authentication',
  {
    mode: def(oneOf(AUTH_MODES), 'Strict', 'What happens without a valid credential.'),
    providers: req(list(clusterIssuer, { min: 1, max: 64 }), 'Issuers whose tokens are accepted.'),
    location: opt(credentialSource, 'Where to read the token; `Authorization: Bearer` when unset.'),
    mcp: opt(mcpMetadata, 'Serves the OAuth metadata that MCP clients request.'),
  },
  {
    check: mcpNeedsOneIssuer,
    rules: [
      serverRule(
        "!has(self.mcp) || (self.providers.size() == 1 && self.mode == 'Strict')",
        'mcp goes only with exactly one provider and mode Strict',
      ),
    ],
  },
)

export const jwtAuth = definePolicy({
  name: 'jwtAuth',
  doc: 'Lets requests with a valid JSON Web Token pass; its claims are `jwt` in expressions.',
  spec: 'Inbound: JWT',
  attach: ['listener', 'route'],
  schema,
  cluster: [
    {
      section: 'traffic',
      member: 'jwtAuthentication',
      field: opt(inCluster, 'Verifies JSON Web Tokens.'),
      convert: convertJwt,
    },
  ],
  asksFor: 'token',
  guards: true,
  compile(spec, ctx) {
    const { mode, location } = spec
    const at = introspectedAt(spec)
    const request = tokenCheck(
      {
        mode,
        location,
        providers: providersOf(spec, ctx),
        // A dry run uses its own tokens, which need no introspection.
        introspection: at && !ctx.runtime.standIns ? openIntrospection(at.spec, at.path, ctx) : undefined,
      },
      ctx,
    )
    return { request, ...bodiesFor([location?.expression], ctx.limits) }
  },
})

function providersOf(spec: Spec, ctx: CompileContext): JwtProvider[] {
  if (spec.providers) return spec.providers.map((each, i) => openProvider(each, ['providers', i], ctx))
  return [openProvider(spec as ProviderSpec, [], ctx)]
}

/** The one issuer whose tokens are introspected. */
function introspectedAt(spec: Spec): { readonly spec: ProviderSpec; readonly path: Path } | undefined {
  if (spec.introspection) return { spec: spec as ProviderSpec, path: [] }
  const i = spec.providers?.findIndex(each => each.introspection) ?? -1
  const found = spec.providers?.[i]
  return found && { spec: found, path: ['providers', i] }
}

function openIntrospection(spec: ProviderSpec, path: Path, ctx: CompileContext): Introspection | undefined {
  const { issuer, audiences, jwtValidationOptions, introspection } = spec
  if (introspection === undefined) return undefined
  const { url: endpoint, clientId: id, clientSecret, backendTLS, cacheDuration } = introspection
  const at = [...path, 'introspection']
  const secret = secretText(clientSecret, ctx, [...at, 'clientSecret'])
  return new Introspection(
    {
      scope: 'jwtAuth',
      endpoint,
      tls: optionalTls(backendTLS, [...at, 'backendTLS'], ctx),
      client: { method: 'clientSecretBasic', id, secret: secret ?? '' },
      expected: { issuer, audiences, requiredClaims: jwtValidationOptions?.requiredClaims ?? [] },
      cacheDuration,
    },
    ctx.runtime,
  )
}

function openProvider(spec: ProviderSpec, path: Path, ctx: CompileContext): JwtProvider {
  return {
    issuer: spec.issuer,
    audiences: spec.audiences,
    requiredClaims: spec.jwtValidationOptions?.requiredClaims ?? ['exp'],
    keys: acceptedKeys(spec.issuer, keysOf(spec, path, ctx), ctx),
  }
}

function keysOf({ jwks: keys }: ProviderSpec, path: Path, ctx: CompileContext): KeySource {
  return keys === undefined ? NO_KEY_SOURCE : openKeys(keys, [...path, 'jwks'], ctx)
}

function keysOrIntrospection(value: Record<string, unknown>): readonly ObjectProblem[] {
  if (value.issuer !== undefined && value.jwks === undefined && value.introspection === undefined) {
    const message = 'jwtAuth lacks the required field `jwks`'
    return [{ message, path: [], at: 'parent', label: '`jwks` is missing' }]
  }
  const asked = asItems(value.providers).flatMap((each, i) => (asFields(each)?.introspection ? [i] : []))
  if (asked.length < 2) return []
  const message = 'an opaque token would be shown to every issuer: only one provider may have `introspection`'
  return [problem(['providers', asked[1] as number, 'introspection'], message)]
}

function mcpNeedsOneIssuer(value: Record<string, unknown>): readonly ObjectProblem[] {
  if (!value.mcp) return []
  if ((value.providers as readonly unknown[]).length > 1) {
    return [problem(['mcp'], '`mcp` goes only with exactly one entry in `providers`')]
  }
  return value.mode === 'Strict' ? [] : [problem(['mcp'], '`mcp` goes only with `mode: Strict`')]
}

/** With MCP settings it becomes `mcpAuthentication`. */
function convertJwt(part: Fields, ctx: ClusterContext): Policies | null | undefined {
  if (part.mcp) return null
  const providers = asItems(part.providers).flatMap(each => {
    const jwks = ctx.keySet(asFields(each.jwks) ?? {})
    return jwks === undefined ? [] : [defined({ issuer: each.issuer, audiences: strings(each.audiences), jwks })]
  })
  if (providers.length === 0) return undefined
  return defined({ mode: lower(part.mode ?? 'Strict'), location: convertLocation(part.location), providers })
}

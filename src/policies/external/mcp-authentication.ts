// OAuth for MCP clients (specification, MCPAuthentication).

import type { JwtProvider } from '../../auth/jwt.ts'
import { fetchedKeys, type KeySource } from '../../auth/key-source.ts'
import { endpointIn, MetadataCache, oauthDocuments, openidDocument } from '../../auth/provider-metadata.ts'
import { GatewayError } from '../../http/errors.ts'
import type { TlsOptions } from '../../http/transport.ts'
import { originOf, pathOf, placeOf } from '../../mcp/oauth-documents.ts'
import { def, type Infer, json, list, map, object, oneOf, opt, req, shapes, string } from '../../schema/builder.ts'
import { remoteKeySet, secretRef } from '../../schema/resource-references.ts'
import { fileOrInline, shortString } from '../../schema/scalars.ts'
import { asFields, asItems, type Fields } from '../../schema/untyped.ts'
import { type ClusterContext, defined, lower, type Policies, strings } from '../parts/cluster-form.ts'
import { convertLocation, readLocation } from '../parts/credential-location.ts'
import { AUTH_MODES, IDENTITY_PROVIDERS, issuerUrl, keySetCache } from '../parts/issuers.ts'
import { jwks, openKeys, optionalTls, tlsField } from '../parts/key-sets.ts'
import {
  AuthorizationServer,
  MAX_REQUEST,
  SCOPE,
  type ServerSettings,
} from '../parts/mcp-authentication/authorization-server.ts'
import {
  DEFAULT_KEYS,
  type IdentityProvider,
  PROVIDER_NAMES,
  PROVIDERS,
} from '../parts/mcp-authentication/identity-providers.ts'
import { challenge, resourceMembers, resourceReply } from '../parts/mcp-authentication/protected-resource.ts'
import { bodiesFor } from '../parts/request-body.ts'
import { secretText } from '../parts/secret-text.ts'
import { acceptedKeys, tokenCheck, tokenMode } from '../parts/token-check.ts'
import { type CompileContext, definePolicy } from '../policy.ts'

const provider = shapes({
  string: oneOf(PROVIDER_NAMES),
  object: object(
    'identity provider',
    Object.fromEntries(PROVIDER_NAMES.map(name => [name, opt(object(name, {}), `${name}.`)])),
    { exactlyOneOf: [PROVIDER_NAMES] },
  ),
})

const inCluster = object('MCP authentication', {
  resourceMetadata: opt(map(json), 'Metadata of the protected resource.'),
  provider: opt(oneOf(IDENTITY_PROVIDERS), 'The identity provider, if it deviates from the protocol.'),
  issuer: opt(shortString, 'The `iss` claim.'),
  audiences: opt(list(shortString, { min: 1, max: 64 }), 'Accepted `aud` claims; any when unset.'),
  jwks: req(remoteKeySet(keySetCache), 'The keys that sign tokens.'),
  mode: def(oneOf(AUTH_MODES), 'Strict', 'What happens without a valid token.'),
  clientId: opt(string(), 'The client returned to registrations.'),
  clientSecretRef: opt(secretRef({ key: 'clientSecret' }), 'A Secret with the secret of that client.'),
})

const schema = object('MCP authentication', {
  issuer: req(issuerUrl, 'Issuer of the tokens; its metadata is read from below it.'),
  audiences: req(list(string({ min: 1 }), { max: 64 }), 'Accepted audiences; empty: any.'),
  provider: opt(provider, 'Identity provider, if its endpoints differ from the standard.'),
  resourceMetadata: def(map(json), {}, 'Protected resource metadata, as it is served.'),
  jwks: opt(jwks, 'Key set; the issuer’s own when unset.'),
  backendTLS: tlsField,
  mode: def(tokenMode, 'strict', 'Whether a token must be present.'),
  authorizationLocation: opt(readLocation, 'Where to read the token; the Authorization header when unset.'),
  jwtValidationOptions: opt(
    object('validation options', {
      requiredClaims: def(list(string({ min: 1 })), ['exp'], 'Claims that must be present.'),
    }),
    'How tokens are validated.',
  ),
  clientId: opt(string({ min: 1 }), 'Returned to clients that register, without calling the provider.'),
  clientSecret: opt(fileOrInline({ secret: true }), 'Added to token requests.'),
})
type Spec = Infer<typeof schema>

export const mcpAuthentication = definePolicy({
  name: 'mcpAuthentication',
  doc: 'OAuth for MCP clients: token validation and the metadata documents that lead to it.',
  spec: 'Inbound: JWT',
  cluster: [
    { section: 'mcp', member: 'authentication', field: opt(inCluster, 'OAuth as specified by MCP.'), convert },
    { section: 'traffic', member: 'jwtAuthentication', convert: convertJwt },
  ],
  asksFor: 'token',
  guards: true,
  attach: ['route'],
  schema,
  compile(spec, ctx) {
    const tls = optionalTls(spec.backendTLS, ['backendTLS'], ctx)
    const server = new AuthorizationServer(serverSettings(spec, tls, ctx), ctx.runtime)
    const check = tokenCheck(
      { mode: spec.mode, location: spec.authorizationLocation, providers: [providerOf(spec, tls, ctx)] },
      ctx,
      true,
    )
    const members = resourceMembers(spec.resourceMetadata)
    const { resource } = members
    const fixed = typeof resource === 'string' && URL.canParse(resource) ? new URL(resource).origin : undefined
    return {
      request(x) {
        const path = pathOf(x.request.path)
        const place = placeOf(path)
        if (place) {
          const base = originOf(x)
          if (place.kind !== 'resource') return server.answer(place, base, x)
          return resourceReply(place, base, server.stands ? base + place.endpoint : spec.issuer, members, x)
        }
        const refuse = (error: unknown): never => {
          if (!(error instanceof GatewayError) || error.code !== 'jwt') throw error
          throw challenge(error, fixed ?? originOf(x), pathOf(x.received.path))
        }
        try {
          return check(x)?.catch(refuse)
        } catch (error) {
          return refuse(error)
        }
      },
      holdsRequest: MAX_REQUEST,
      ...bodiesFor([spec.authorizationLocation?.expression], ctx.limits),
    }
  },
})

function identityProvider({ provider }: Spec): IdentityProvider | undefined {
  const name = typeof provider === 'object' ? PROVIDER_NAMES.filter(each => provider[each] !== undefined)[0] : provider
  return name && PROVIDERS[name]
}

function metadataOf(spec: Spec, tls: TlsOptions | undefined, ctx: CompileContext): MetadataCache {
  const { issuer } = spec
  const documents = identityProvider(spec)?.openid ? [openidDocument(issuer)] : oauthDocuments(issuer)
  return ctx.state('metadata', () => new MetadataCache(issuer, documents, { tls }))
}

function serverSettings(spec: Spec, tls: TlsOptions | undefined, ctx: CompileContext): ServerSettings {
  const { clientId, clientSecret, audiences } = spec
  return {
    provider: identityProvider(spec),
    audiences,
    clientId,
    clientSecret: clientSecret && secretText(clientSecret, ctx, ['clientSecret']),
    metadata: metadataOf(spec, tls, ctx),
    tls,
  }
}

function providerOf(spec: Spec, tls: TlsOptions | undefined, ctx: CompileContext): JwtProvider {
  const { issuer, audiences } = spec
  return {
    issuer,
    audiences: audiences.length === 0 ? undefined : audiences,
    requiredClaims: spec.jwtValidationOptions?.requiredClaims ?? ['exp'],
    keys: acceptedKeys(issuer, keysOf(spec, tls, ctx), ctx),
  }
}

/** ms. */
const KEYS_FRESH = 300_000

/** Unless configured, the key set is discovered through the issuer. */
function keysOf(spec: Spec, tls: TlsOptions | undefined, ctx: CompileContext): KeySource {
  const { issuer, jwks: written } = spec
  if (written) return openKeys(written, ['jwks'], ctx, tls)
  const metadata = metadataOf(spec, tls, ctx)
  const usual = new URL(issuer.replace(/\/$/, '') + (identityProvider(spec)?.keys ?? DEFAULT_KEYS))
  const find = () =>
    metadata.read(SCOPE, ctx.runtime).then(
      found => endpointIn(found, 'jwks_uri') ?? usual,
      () => usual,
    )
  return fetchedKeys(issuer, find, KEYS_FRESH, ctx, tls)
}

function convert(part: Fields, ctx: ClusterContext): Policies {
  const secret = asFields(part.clientSecretRef)
  return defined({
    issuer: part.issuer,
    audiences: strings(part.audiences) ?? [],
    provider: lower(part.provider),
    resourceMetadata: part.resourceMetadata && ctx.kept(part.resourceMetadata),
    jwks: ctx.keySet(asFields(part.jwks) ?? {}),
    mode: lower(part.mode ?? 'Strict'),
    clientId: part.clientId,
    clientSecret: secret && ctx.secrets.shown(secret, 'clientSecret'),
  })
}

/** JWT settings with MCP metadata require a single issuer and the mode `Strict`. */
function convertJwt(part: Fields, ctx: ClusterContext): Policies | null | undefined {
  const mcp = asFields(part.mcp)
  const issuer = asItems(part.providers)[0]
  if (!mcp || !issuer) return null
  const jwks = ctx.keySet(asFields(issuer.jwks) ?? {})
  if (jwks === undefined) return undefined
  return defined({
    issuer: issuer.issuer,
    audiences: strings(issuer.audiences) ?? [],
    provider: lower(mcp.provider),
    resourceMetadata: mcp.resourceMetadata && ctx.kept(mcp.resourceMetadata),
    jwks,
    mode: 'strict',
    authorizationLocation: convertLocation(part.location),
    clientId: mcp.clientId,
  })
}

import { asFields, asItems, asText, type Fields } from '../../../schema/untyped.ts'
import type { ClusterContext } from '../../parts/cluster-form.ts'
import { defined, lower, type Policies, strings } from '../../parts/cluster-form.ts'
import { convertLocation } from '../../parts/credential-location.ts'

/** Converts an `auth` section to `backendAuth`. */
export function convertAuth(part: Fields, ctx: ClusterContext): Policies | undefined {
  const location = convertLocation(part.location)
  const out: Policies = {}
  const key = asText(part.key)
  if (key !== undefined) out.key = defined({ value: shown(key, ctx), location })
  const secret = asFields(part.secretRef)
  if (secret)
    out.key = defined({
      value: ctx.secrets.shown(secret, 'Authorization', unprefixed(secret)) ?? '<missing>',
      location,
    })
  if (part.passthrough !== undefined) out.passthrough = defined({ location })
  const make: Readonly<Record<string, (inner: Fields, ctx: ClusterContext) => unknown>> = {
    aws: awsAuth,
    azure: azureAuth,
    gcp: gcpAuth,
    jwtSign,
    oauthTokenExchange: tokenExchange,
    crossAppAccess,
  }
  for (const [name, convert] of Object.entries(make)) {
    const inner = asFields(part[name])
    if (inner) out[name] = convert(inner, ctx)
  }
  const credentials = asItems(part.credentials).map(each => ({
    location: convertLocation(each.location),
    key: ctx.secrets.shown(asFields(each.secretRef) ?? {}, 'Authorization') ?? '<missing>',
  }))
  if (credentials.length > 0) out.credentials = credentials
  const kept = defined(out)
  return Object.keys(kept).length === 0 ? undefined : kept
}

/** A leading `Bearer` is stripped only under the default key. */
function unprefixed(ref: Fields) {
  const byDefault = (asText(ref.key) ?? 'Authorization') === 'Authorization'
  return (text: string) => (byDefault ? text.replace(/^Bearer\s+/i, '') : text)
}

function shown(value: string, ctx: ClusterContext): string {
  if (ctx.withSecrets) return value
  return `<redacted: inline key of ${ctx.holder.kindName} ${ctx.holder.namespace}/${ctx.holder.name}>`
}

function awsAuth(part: Fields, ctx: ClusterContext): Policies {
  const ref = asFields(part.secretRef)
  const role = asFields(part.assumeRole)
  const read = (key: string) => ref && (ctx.secrets.shown({ name: ref.name, kind: ref.kind }, key) ?? '<missing>')
  const secret = ref && ctx.secrets.secret(String(ref.name))
  const hasToken = secret && JSON.stringify([secret.raw.data, secret.raw.stringData]).includes('"sessionToken"')
  return defined({
    accessKeyId: read('accessKey'),
    secretAccessKey: read('secretKey'),
    sessionToken: hasToken ? read('sessionToken') : undefined,
    region: part.region,
    serviceName: part.serviceName,
    assumeRole:
      role &&
      defined({
        roleArn: role.roleArn,
        sessionName: role.sessionName ?? (role.sessionNameExpression && { expression: role.sessionNameExpression }),
        tags: role.tags && asItems(role.tags).map(tag => ({ ...tag })),
      }),
  })
}

function azureAuth(part: Fields, ctx: ClusterContext): Policies {
  const ref = asFields(part.secretRef)
  const identity = asFields(part.managedIdentity)
  if (ref) {
    const secret = ctx.secrets.secret(String(ref.name))
    const spelled = (a: string, b: string) =>
      secret && JSON.stringify([secret.raw.data, secret.raw.stringData]).includes(`"${b}"`) ? b : a
    const read = (a: string, b = a) => ctx.secrets.shown({ name: ref.name }, spelled(a, b)) ?? '<missing>'
    const clientSecret = {
      tenant_id: read('tenantId', 'tenantID'),
      client_id: read('clientId', 'clientID'),
      client_secret: read('clientSecret'),
    }
    return { explicitConfig: { clientSecret } }
  }
  if (identity) {
    const user = defined({ ...identity })
    const managedIdentity = Object.keys(user).length > 0 ? { userAssignedIdentity: user } : {}
    return { explicitConfig: { managedIdentity } }
  }
  if (part.workloadIdentity !== undefined) return { explicitConfig: { workloadIdentity: {} } }
  return { implicit: {} }
}

function gcpAuth(part: Fields, ctx: ClusterContext): Policies {
  const ref = asFields(part.secretRef)
  return defined({
    type: lower(part.type),
    audience: part.audience,
    // Otherwise the identity of the environment would be used.
    credential: ref && (ctx.secrets.shown(ref, 'credentials.json') ?? '<missing>'),
  })
}

function jwtSign(part: Fields, ctx: ClusterContext): Policies {
  const claims = asFields(part.claims)
  return defined({
    signingKey: ctx.secrets.shown(asFields(part.signingKeyRef) ?? {}, 'signingKey') ?? '<missing>',
    alg: part.alg,
    kid: part.kid,
    claims: claims && Object.fromEntries(Object.entries(claims).map(([name, value]) => [name, asCel(value, ctx)])),
    ttl: part.ttl,
    location: convertLocation(part.location),
  })
}

/** Claims are literals here and expressions in standalone files. */
function asCel(value: unknown, ctx: ClusterContext): string {
  return JSON.stringify(ctx.plain(value))
}

function tokenExchange(part: Fields, ctx: ClusterContext): Policies | undefined {
  const target = ctx.target(part, 'failed to build oauthTokenExchange')
  if (!target) return undefined
  const actor = asFields(part.actorToken)
  return defined({
    ...target,
    path: part.path ?? ctx.urlPath(part),
    grantType: lower(part.grantType),
    subjectToken: subject(part.subjectToken),
    actorToken:
      actor &&
      defined({
        source: convertLocation(actor.source),
        tokenType: actor.tokenType,
        enforceMayAct: actor.mayAct === undefined ? undefined : true,
      }),
    audiences: strings(part.audiences),
    scopes: strings(part.scopes),
    resources: strings(part.resources),
    requestedTokenType: part.requestedTokenType,
    clientAuth: clientAuth(asFields(part.clientAuth), ctx),
    additionalParams: part.additionalParams && { ...(part.additionalParams as Fields) },
    authorizationLocation: convertLocation(part.location),
    cache: cacheOf(part.cache),
  })
}

function subject(part: unknown): Policies | undefined {
  const token = asFields(part)
  return token && defined({ source: convertLocation(token.source), tokenType: token.tokenType })
}

function cacheOf(part: unknown): Policies | undefined {
  const memory = asFields(asFields(part)?.inMemory)
  return memory && defined({ maxEntries: memory.maxEntries, defaultTtl: memory.defaultTtl })
}

function clientAuth(part: Fields | undefined, ctx: ClusterContext): Policies | undefined {
  if (!part) return undefined
  const signed = asFields(part.privateKeyJwt)
  const secret = asFields(part.secretRef)
  const certificate = asFields(signed?.certificateRef)
  return defined({
    method: lower(part.method),
    clientId: part.clientId,
    clientSecret: secret && ctx.secrets.shown(secret, 'clientSecret'),
    signingKey: signed && ctx.secrets.shown(asFields(signed.signingKeyRef) ?? {}, 'signingKey'),
    certificate: certificate && ctx.secrets.shown(certificate, 'certificate'),
    certificateHeader: signed?.certificateHeader,
    alg: signed?.alg,
    kid: signed?.kid,
    assertionAudience: signed?.assertionAudience,
  })
}

function crossAppAccess(part: Fields, ctx: ClusterContext): Policies | undefined {
  const server = (name: string) => {
    const inner = asFields(part[name]) ?? {}
    const target = ctx.target(inner, `failed to build crossAppAccess ${name}`)
    return (
      target &&
      defined({
        ...target,
        path: inner.path ?? ctx.urlPath(inner),
        clientAuth: clientAuth(asFields(inner.clientAuth), ctx),
      })
    )
  }
  const identityProvider = server('identityProvider')
  const resourceAuthorizationServer = server('resourceAuthorizationServer')
  if (!identityProvider || !resourceAuthorizationServer) return undefined
  return defined({
    identityProvider,
    resourceAuthorizationServer,
    audience: part.audience,
    resources: strings(part.resources),
    scopes: strings(part.scopes),
    accessTokenScopes: strings(part.accessTokenScopes),
    subjectToken: subject(part.subjectToken),
    cache: cacheOf(part.cache),
  })
}

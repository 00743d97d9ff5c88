// Google tokens from a credential or the metadata server: https://google.aip.dev/auth/4110
import { sign } from 'node:crypto'
import { join } from 'node:path'
import { readIfRegular } from '../../files/read-file.ts'
import type { Dated } from '../fresh.ts'
import { type CloudContext, callCloud } from './cloud-context.ts'
import { type ExternalAccount, type GoogleCredential, readGoogleCredential } from './google-credential.ts'
import { accessTokenIn, identityTokenIn, membersOf, repliedMembers, tokenText } from './token-reply.ts'

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'

/** An access token, or an ID token for an audience. */
export type GoogleTokenRequest = { readonly kind: 'access' } | { readonly kind: 'identity'; readonly audience: string }

/** If `credential` is unset, tries the environment, then the metadata server. Throws an error without credentials. */
export async function googleToken(
  cloud: CloudContext,
  credential: GoogleCredential | undefined,
  wish: GoogleTokenRequest,
): Promise<Dated<string>> {
  const from = credential ?? fromEnvironment(cloud)
  return from === undefined ? metadataServerToken(cloud, wish) : credentialToken(cloud, from, wish)
}

/**
 * Application default credentials: the file named by a variable, otherwise that of `gcloud auth application-default`.
 */
function fromEnvironment({ env }: CloudContext): GoogleCredential | undefined {
  const named = env.GOOGLE_APPLICATION_CREDENTIALS
  if (named) {
    const text = readIfRegular(named)?.toString('utf8')
    if (text === undefined) throw new Error('the file of GOOGLE_APPLICATION_CREDENTIALS cannot be read')
    return readGoogleCredential(text)
  }
  const folder =
    env.CLOUDSDK_CONFIG ??
    (env.APPDATA ? join(env.APPDATA, 'gcloud') : env.HOME ? join(env.HOME, '.config', 'gcloud') : undefined)
  const text = folder && readIfRegular(join(folder, 'application_default_credentials.json'))?.toString('utf8')
  return text ? readGoogleCredential(text) : undefined
}

function credentialToken(
  cloud: CloudContext,
  from: GoogleCredential,
  wish: GoogleTokenRequest,
): Promise<Dated<string>> {
  switch (from.type) {
    case 'service_account':
      return serviceAccountToken(cloud, from, wish)
    case 'authorized_user':
      return userToken(cloud, from, wish)
    case 'external_account':
      return externalAccountToken(cloud, from, wish)
    case 'impersonated_service_account':
      return impersonatedToken(cloud, from, wish)
  }
}

type Of<T extends GoogleCredential['type']> = Extract<GoogleCredential, { type: T }>

/** https://developers.google.com/identity/protocols/oauth2/service-account (RFC 7523) */
async function serviceAccountToken(
  cloud: CloudContext,
  { email, privateKey, keyId, tokenUrl }: Of<'service_account'>,
  wish: GoogleTokenRequest,
): Promise<Dated<string>> {
  const now = cloud.runtime.clock.now()
  const issued = Math.floor(now / 1000)
  const wanted = wish.kind === 'access' ? { scope: SCOPE } : { target_audience: wish.audience }
  const claims = { iss: email, sub: email, aud: tokenUrl, iat: issued, exp: issued + 3600, ...wanted }
  const members = await tokenReply(cloud, tokenUrl, {
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: signedJwt(
      { alg: 'RS256', typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) },
      claims,
      privateKey,
    ),
  })
  return wish.kind === 'access'
    ? accessTokenIn(members, hostOf(tokenUrl), now)
    : identityTokenIn(members.id_token, hostOf(tokenUrl), now)
}

function signedJwt(header: object, claims: object, privateKey: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part(header)}.${part(claims)}`
  try {
    return `${text}.${sign('RSA-SHA256', Buffer.from(text), privateKey).toString('base64url')}`
  } catch {
    throw new Error('the `private_key` of the Google credential is not a PEM private key')
  }
}

/** The gcloud user login. Its ID token is for gcloud itself, with a fixed audience. */
async function userToken(
  cloud: CloudContext,
  { clientId, clientSecret, refreshToken, tokenUrl }: Of<'authorized_user'>,
  wish: GoogleTokenRequest,
): Promise<Dated<string>> {
  const now = cloud.runtime.clock.now()
  const members = await tokenReply(cloud, tokenUrl, {
    grant_type: 'refresh_token',
    client_id: clientId,
    client_secret: clientSecret,
    refresh_token: refreshToken,
  })
  return wish.kind === 'access'
    ? accessTokenIn(members, hostOf(tokenUrl), now)
    : identityTokenIn(members.id_token, hostOf(tokenUrl), now)
}

/** https://google.aip.dev/auth/4117 (RFC 8693) */
async function externalAccountToken(
  cloud: CloudContext,
  from: ExternalAccount,
  wish: GoogleTokenRequest,
): Promise<Dated<string>> {
  const { impersonationUrl, tokenUrl, client, userProject } = from
  if (wish.kind === 'identity' && impersonationUrl === undefined) {
    throw new Error('an external account has ID tokens only with `service_account_impersonation_url`')
  }
  const now = cloud.runtime.clock.now()
  const members = await tokenReply(
    cloud,
    tokenUrl,
    {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      audience: from.audience,
      scope: SCOPE,
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      subject_token: await subjectToken(cloud, from),
      subject_token_type: from.subjectTokenType,
      ...(userProject === undefined || client ? {} : { options: JSON.stringify({ userProject }) }),
    },
    client && ['authorization', `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`],
  )
  const own = accessTokenIn(members, hostOf(tokenUrl), now)
  return impersonationUrl === undefined ? own : impersonated(cloud, own.value, impersonationUrl, [], wish)
}

async function subjectToken(cloud: CloudContext, { source }: ExternalAccount): Promise<string> {
  const { file, url, fields, member } = source
  const text =
    file === undefined
      ? (await callCloud(cloud, { method: 'GET', url: url as string, fields })).body.toString('utf8')
      : readIfRegular(file)?.toString('utf8')
  if (text === undefined) throw new Error('the file of the subject token cannot be read')
  const whose = 'the source of the subject token'
  return tokenText(member === undefined ? text.trim() : membersOf(text, whose)[member], whose)
}

async function impersonatedToken(
  cloud: CloudContext,
  { source, url, delegates }: Of<'impersonated_service_account'>,
  wish: GoogleTokenRequest,
): Promise<Dated<string>> {
  const own = await credentialToken(cloud, source, { kind: 'access' })
  return impersonated(cloud, own.value, url, delegates, wish)
}

/** https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts */
async function impersonated(
  cloud: CloudContext,
  token: string,
  url: string,
  delegates: readonly string[],
  wish: GoogleTokenRequest,
): Promise<Dated<string>> {
  const identity = wish.kind === 'identity'
  const reply = await callCloud(cloud, {
    method: 'POST',
    url: identity ? url.replace(/:generateAccessToken$/, ':generateIdToken') : url,
    fields: ['content-type', 'application/json', 'authorization', `Bearer ${token}`],
    body: JSON.stringify({
      ...(delegates.length === 0 ? {} : { delegates }),
      ...(identity ? { audience: wish.audience, includeEmail: true } : { scope: [SCOPE], lifetime: '3600s' }),
    }),
  })
  const now = cloud.runtime.clock.now()
  const members = repliedMembers(reply, hostOf(url))
  if (identity) return identityTokenIn(members.token, hostOf(url), now)
  const end = Date.parse(String(members.expireTime))
  const about = { access_token: members.accessToken, ...(Number.isNaN(end) ? {} : { expires_on: end / 1000 }) }
  return accessTokenIn(about, hostOf(url), now)
}

const METADATA = 'metadata.google.internal'
const FLAVOR = 'metadata-flavor'

/** https://cloud.google.com/compute/docs/access/authenticate-workloads */
async function metadataServerToken(cloud: CloudContext, wish: GoogleTokenRequest): Promise<Dated<string>> {
  const host = cloud.env.GCE_METADATA_HOST || METADATA
  const account = `http://${host}/computeMetadata/v1/instance/service-accounts/default`
  const url =
    wish.kind === 'access'
      ? `${account}/token?scopes=${encodeURIComponent(SCOPE)}`
      : `${account}/identity?audience=${encodeURIComponent(wish.audience)}&format=full`
  const reply = await callCloud(cloud, { method: 'GET', url, fields: [FLAVOR, 'Google'] }).catch((error: unknown) => {
    const said = error instanceof Error ? error.message : 'unknown failure'
    throw new Error(
      `no Google credentials: none in GOOGLE_APPLICATION_CREDENTIALS or of gcloud, and the metadata server gave none (${said})`,
    )
  })
  // Another service at that address must not be asked for credentials.
  if (reply.headers.get(FLAVOR) !== 'Google') throw new Error(`${host} is not a metadata server of Google`)
  const now = cloud.runtime.clock.now()
  return wish.kind === 'access'
    ? accessTokenIn(repliedMembers(reply, host), host, now)
    : identityTokenIn(reply.body.toString('utf8').trim(), host, now)
}

async function tokenReply(
  cloud: CloudContext,
  url: string,
  form: Readonly<Record<string, string>>,
  fields: readonly string[] = [],
): Promise<Readonly<Record<string, unknown>>> {
  const reply = await callCloud(cloud, {
    method: 'POST',
    url,
    fields: ['content-type', 'application/x-www-form-urlencoded', 'accept', 'application/json', ...fields],
    body: new URLSearchParams(form).toString(),
  })
  return repliedMembers(reply, hostOf(url))
}

function hostOf(url: string): string {
  return new URL(url).host
}

// The default AWS credential chain, in the order of the AWS SDKs.
import { join } from 'node:path'
import { readIfRegular } from '../../files/read-file.ts'
import type { Dated } from '../fresh.ts'
import { type AwsKeys, authorization, signingFields } from './aws-sigv4.ts'
import { type CloudContext, callCloud } from './cloud-context.ts'

type Found = Dated<AwsKeys> | undefined

/** Throws if no source has credentials; the error names what was tried, never a credential. */
export async function discoverAwsKeys(cloud: CloudContext): Promise<Dated<AwsKeys>> {
  const found =
    fromEnvironment(cloud) ??
    (await fromSharedFile(cloud)) ??
    (await fromWebIdentity(cloud)) ??
    (await fromContainer(cloud)) ??
    (await fromInstance(cloud))
  if (found) return found
  throw new Error(
    'no AWS credentials: none in the environment, the shared credentials file, a web identity, a container or an instance role',
  )
}

export interface AssumedRole {
  readonly roleArn: string
  readonly sessionName: string
  readonly tags: readonly { readonly key: string; readonly value: string }[]
  readonly region: string
}

/** https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html */
export async function assumeRole(cloud: CloudContext, source: AwsKeys, role: AssumedRole): Promise<Dated<AwsKeys>> {
  const url = stsEndpoint(cloud, role.region)
  const form = new URLSearchParams({
    Action: 'AssumeRole',
    Version: '2011-06-15',
    RoleArn: role.roleArn,
    RoleSessionName: role.sessionName,
  })
  for (const [i, { key, value }] of role.tags.entries()) {
    form.set(`Tags.member.${i + 1}.Key`, key)
    form.set(`Tags.member.${i + 1}.Value`, value)
  }
  const body = form.toString()
  const now = cloud.runtime.clock.now()
  const fields = ['content-type', 'application/x-www-form-urlencoded', ...signingFields(source, now)]
  const { host, pathname } = new URL(url)
  const signed = authorization(
    { method: 'POST', path: pathname, fields: ['host', host, ...fields], body: Buffer.from(body) },
    source,
    { region: role.region, service: 'sts', now },
  )
  const reply = await callCloud(cloud, {
    method: 'POST',
    url,
    fields: [...fields, 'accept', 'application/json', 'authorization', signed],
    body,
  })
  return fromSts(reply.body.toString('utf8'), 'AssumeRole')
}

function fromEnvironment({ env }: CloudContext): Found {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_SESSION_TOKEN: token } = env
  if (!accessKeyId || !secretAccessKey) return undefined
  // The environment does not change while the process runs, so these do not expire.
  return { value: keysOf(accessKeyId, secretAccessKey, token), expiresAt: undefined }
}

/** ms before the file is read again: other programs renew its credentials. */
const FILE_AGE = 10 * 60_000

async function fromSharedFile({ env, runtime }: CloudContext): Promise<Found> {
  const home = env.HOME ?? env.USERPROFILE
  const path = env.AWS_SHARED_CREDENTIALS_FILE ?? (home === undefined ? undefined : join(home, '.aws', 'credentials'))
  const text = path === undefined ? undefined : readText(path)
  const section = text === undefined ? undefined : profileIn(text, env.AWS_PROFILE ?? 'default')
  const accessKeyId = section?.get('aws_access_key_id')
  const secretAccessKey = section?.get('aws_secret_access_key')
  if (!accessKeyId || !secretAccessKey) return undefined
  return {
    value: keysOf(accessKeyId, secretAccessKey, section?.get('aws_session_token')),
    expiresAt: runtime.clock.now() + FILE_AGE,
  }
}

function profileIn(text: string, profile: string): Map<string, string> | undefined {
  let section: Map<string, string> | undefined
  for (const line of text.split(/\r?\n/)) {
    const header = /^\s*\[\s*(.+?)\s*\]/.exec(line)
    if (header) {
      if (section) return section
      if (header[1] === profile) section = new Map()
      continue
    }
    const setting = /^\s*([A-Za-z_]+)\s*=\s*(.*?)\s*$/.exec(line)
    if (section && setting) section.set((setting[1] as string).toLowerCase(), setting[2] as string)
  }
  return section
}

/** https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html */
async function fromWebIdentity(cloud: CloudContext): Promise<Found> {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: roleArn, AWS_ROLE_SESSION_NAME: session } = cloud.env
  if (!file || !roleArn) return undefined
  const token = readText(file)
  if (token === undefined) throw new Error('the file of AWS_WEB_IDENTITY_TOKEN_FILE cannot be read')
  const form = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: roleArn,
    RoleSessionName: session ?? 'gwctl',
    WebIdentityToken: token.trim(),
  })
  const reply = await callCloud(cloud, {
    method: 'POST',
    url: stsEndpoint(cloud, regionOf(cloud) ?? 'us-east-1'),
    fields: ['content-type', 'application/x-www-form-urlencoded', 'accept', 'application/json'],
    body: form.toString(),
  })
  return fromSts(reply.body.toString('utf8'), 'AssumeRoleWithWebIdentity')
}

/** https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html */
async function fromContainer(cloud: CloudContext): Promise<Found> {
  const { env } = cloud
  const relative = env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI
  const url = relative ? `http://169.254.170.2${relative}` : env.AWS_CONTAINER_CREDENTIALS_FULL_URI
  if (!url) return undefined
  const file = env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE
  const token = file ? readText(file)?.trim() : env.AWS_CONTAINER_AUTHORIZATION_TOKEN
  const fields = token ? ['authorization', token] : []
  const reply = await callCloud(cloud, { method: 'GET', url, fields })
  return fromMetadata(reply.body.toString('utf8'))
}

/** ms: an existing service answers at once, and elsewhere nothing does. */
const PROBE = 1000

/** Instance metadata service version 2 only: version 1 answers anything that can make the gateway send a GET. */
async function fromInstance(cloud: CloudContext): Promise<Found> {
  const { env } = cloud
  if (env.AWS_EC2_METADATA_DISABLED?.toLowerCase() === 'true') return undefined
  const base = (env.AWS_EC2_METADATA_SERVICE_ENDPOINT || 'http://169.254.169.254').replace(/\/$/, '')
  const session = await callCloud(cloud, {
    method: 'PUT',
    url: `${base}/latest/api/token`,
    fields: ['x-aws-ec2-metadata-token-ttl-seconds', '21600'],
    timeout: PROBE,
  }).catch(() => undefined)
  // Not on an EC2 instance.
  if (session === undefined) return undefined
  const fields = ['x-aws-ec2-metadata-token', session.body.toString('latin1').trim()]
  const roles = `${base}/latest/meta-data/iam/security-credentials/`
  const names = await callCloud(cloud, { method: 'GET', url: roles, fields })
  const role = names.body.toString('utf8').split('\n')[0]?.trim()
  if (!role) return undefined
  const reply = await callCloud(cloud, { method: 'GET', url: roles + encodeURIComponent(role), fields })
  return fromMetadata(reply.body.toString('utf8'))
}

export function regionOf({ env }: CloudContext): string | undefined {
  return env.AWS_REGION || env.AWS_DEFAULT_REGION || undefined
}

function stsEndpoint({ env }: CloudContext, region: string): string {
  const own = env.AWS_ENDPOINT_URL_STS || env.AWS_ENDPOINT_URL
  return own ? `${own.replace(/\/$/, '')}/` : `https://sts.${region}.amazonaws.com/`
}

function fromMetadata(text: string): Dated<AwsKeys> {
  const { AccessKeyId, SecretAccessKey, Token, Expiration } = record(parse(text))
  return dated(AccessKeyId, SecretAccessKey, Token, Expiration)
}

/** STS returns JSON if asked to, with expiry in seconds since the epoch, and XML otherwise. */
function fromSts(text: string, action: string): Dated<AwsKeys> {
  if (text.trimStart().startsWith('<')) {
    const part = (name: string) => new RegExp(`<${name}>([^<]+)</${name}>`).exec(text)?.[1]
    return dated(part('AccessKeyId'), part('SecretAccessKey'), part('SessionToken'), part('Expiration'))
  }
  const response = record(record(record(parse(text))[`${action}Response`])[`${action}Result`])
  const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = record(response.Credentials)
  return dated(AccessKeyId, SecretAccessKey, SessionToken, Expiration)
}

function dated(id: unknown, secret: unknown, token: unknown, expiration: unknown): Dated<AwsKeys> {
  if (typeof id !== 'string' || typeof secret !== 'string') throw new Error('an answer of AWS has no credentials in it')
  const at = typeof expiration === 'number' ? expiration * 1000 : Date.parse(String(expiration))
  return {
    value: keysOf(id, secret, typeof token === 'string' ? token : undefined),
    expiresAt: Number.isNaN(at) ? undefined : at,
  }
}

function keysOf(accessKeyId: string, secretAccessKey: string, token: string | undefined): AwsKeys {
  return { accessKeyId, secretAccessKey, ...(token ? { sessionToken: token } : {}) }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('an answer of AWS is not JSON')
  }
}

function readText(path: string): string | undefined {
  return readIfRegular(path)?.toString('utf8')
}

import { Readable } from 'node:stream'
import { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import { keepChunk } from '../../http/keep-chunk.ts'
import type { AwsScope, Target, UpstreamRequest } from '../../http/transport.ts'
import { Fresh, FreshByKey } from '../fresh.ts'
import { type AssumedRole, assumeRole, discoverAwsKeys, regionOf } from './aws-credentials.ts'
import { type AwsKeys, authorization, sha256, signingFields } from './aws-sigv4.ts'
import type { CloudContext } from './cloud-context.ts'

export interface AwsSigning {
  /** Overrides the environment's. */
  readonly keys?: AwsKeys
  readonly region?: string
  readonly service?: string
  readonly assumeRole?: {
    readonly roleArn: string
    /** Constant, or derived from the request. Throws GatewayError for a request without a usable value. */
    readonly session: (x: Exchange | undefined) => RoleSession
  }
}

export type RoleSession = Pick<AssumedRole, 'sessionName' | 'tags'>

/** What a signer needs from the object that owns it. */
export interface SignerContext extends CloudContext {
  readonly limits: { readonly maxBuffer: number }
  state<T extends object>(name: string, make: () => T): T
}

const ROLE_REGION = 'us-east-1'
/** Bounded: sessions named by requests are up to clients. */
const MAX_SESSIONS = 1024

/**
 * Signs outgoing requests. A body is buffered for that, up to `maxBuffer` bytes. Throws GatewayError `backendAuth` if
 * there are no credentials, or region or service cannot be determined.
 */
export function awsSignerFor(
  signing: AwsSigning,
  cloud: SignerContext,
): (request: UpstreamRequest, target?: Pick<Target, 'signedAs'>) => Promise<UpstreamRequest> {
  const { runtime, env } = cloud
  const { clock } = runtime
  const found = cloud.state('AWS keys', () => new Fresh<AwsKeys>(clock))
  const assumed = cloud.state('AWS roles', () => new FreshByKey<AwsKeys>(MAX_SESSIONS, clock))
  const limit = cloud.limits.maxBuffer
  const source = (from: CloudContext): Promise<AwsKeys> =>
    signing.keys ? Promise.resolve(signing.keys) : found.get(awaited => discoverAwsKeys(awaited ? from : cloud))
  const role = signing.assumeRole
  const assumeFor = (from: CloudContext, x: Exchange | undefined): Promise<AwsKeys> => {
    const { roleArn, session } = role as NonNullable<typeof role>
    const asked = { ...session(x), roleArn, region: signing.region ?? regionOf(cloud) ?? ROLE_REGION }
    return assumed.get(JSON.stringify([asked.sessionName, asked.tags]), async awaited => {
      const by = awaited ? from : cloud
      return assumeRole(by, await source(by), asked)
    })
  }
  return async (request, target) => {
    const named = target?.signedAs ?? fromHost(request.authority)
    const region = signing.region ?? named?.region ?? regionOf(cloud)
    const service = signing.service ?? named?.service
    if (region === undefined || service === undefined) {
      const missing = region === undefined ? 'region' : 'service'
      throw new GatewayError('backendAuth', { detail: `nothing tells the AWS ${missing}` })
    }
    const from = { runtime, env, trace: request.signedFor?.trace }
    const keys = await (role ? assumeFor(from, request.signedFor) : source(from)).catch((error: unknown) => {
      throw new GatewayError('backendAuth', { detail: reasonOf(error), cause: error })
    })
    const body = await whole(request.body, limit)
    const headers = signed(request, body, keys, region, service, clock.now())
    return { ...request, headers, body: body.length === 0 ? undefined : body }
  }
}

/** `bedrock-runtime.us-east-1.amazonaws.com`; the signing name of a service may differ from its host. */
function fromHost(authority: string): AwsScope | undefined {
  const match = /^([a-z0-9-]+)\.([a-z]{2}(?:-[a-z]+)+-\d)\.(?:amazonaws\.com|api\.aws)(?:\.cn)?(?::\d+)?$/.exec(
    authority.toLowerCase(),
  )
  if (!match) return undefined
  const [, host = '', region = ''] = match
  return { region, service: host.startsWith('bedrock-runtime') ? 'bedrock' : host }
}

/** Signature fields from a client or a policy are replaced. */
const REPLACED = ['authorization', 'x-amz-date', 'x-amz-security-token', 'x-amz-content-sha256']

function signed(
  request: UpstreamRequest,
  body: Buffer,
  keys: AwsKeys,
  region: string,
  service: string,
  now: number,
): HeaderList {
  const headers = request.headers.copy()
  for (const name of REPLACED) headers.delete(name)
  const own = [...signingFields(keys, now), 'x-amz-content-sha256', sha256(body)]
  for (let i = 0; i < own.length; i += 2) headers.append(own[i] as string, own[i + 1] as string)
  const fields = ['host', request.authority]
  const { raw } = headers
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    // Nothing else, since proxies on the way may change other fields.
    if (name === 'content-type' || name.startsWith('x-amz')) fields.push(name, raw[i + 1] as string)
  }
  const { method, path } = request
  headers.append('authorization', authorization({ method, path, fields, body }, keys, { region, service, now }))
  headers.delete('content-length')
  return headers
}

async function whole(body: UpstreamRequest['body'], limit: number): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0)
  if (!(body instanceof Readable)) return body
  const chunks: Buffer[] = []
  let size = 0
  // The stream is the client's: an error reply must still reach it over the same connection.
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    size += (chunk as Buffer).length
    if (size > limit) throw new GatewayError('bodyTooLarge', { detail: `a signed body has at most ${limit} bytes` })
    keepChunk(chunks, chunk as Buffer)
  }
  return Buffer.concat(chunks, size)
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown'
}

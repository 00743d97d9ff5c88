import { resolve } from 'node:path'
import { cannotRead, Failure } from '../../diagnostics/failure.ts'
import { readRegularFile } from '../../files/read-file.ts'
import { asItems, asList, asText, type Fields, textOf } from '../../schema/untyped.ts'
import { execCredential } from './exec-credential.ts'
import type { ClusterPlace, KubeContext } from './kubeconfig.ts'

/** What calls to an API server need. */
export interface ClusterAccess {
  readonly context: string
  readonly server: URL
  readonly proxy: URL | undefined
  readonly namespace: string
  readonly tls: TlsFields
  readonly headers: Readonly<Record<string, string>>
}

/** In the form of `node:https`. */
export interface TlsFields {
  ca?: Buffer
  cert?: Buffer
  key?: Buffer
  rejectUnauthorized?: boolean
  servername?: string
}

/** Loads the credentials of a context, running its plugin if it has one. */
export async function accessOf(context: KubeContext, place: ClusterPlace): Promise<ClusterAccess> {
  const { cluster } = context
  const server = urlOf(asText(cluster.server), context)
  const proxy = asText(cluster['proxy-url'])
  const tls: TlsFields = {}
  const ca = bytesOf(cluster, 'certificate-authority', context.clusterFolder)
  if (ca) tls.ca = ca
  if (cluster['insecure-skip-tls-verify'] === true) tls.rejectUnauthorized = false
  const name = asText(cluster['tls-server-name'])
  if (name !== undefined) tls.servername = name
  return {
    context: context.name,
    server,
    proxy: proxy === undefined ? undefined : proxyOf(proxy, context),
    namespace: context.namespace,
    headers: await headersOf(context, tls, place),
    tls,
  }
}

function urlOf(text: string | undefined, { name }: KubeContext): URL {
  const url = text === undefined ? null : URL.parse(text)
  if (url !== null && (url.protocol === 'https:' || url.protocol === 'http:')) return url
  throw new Failure('input', `the cluster of context ${name} has no \`server\` that is an http or https URL.`)
}

function proxyOf(text: string, { name }: KubeContext): URL {
  const url = URL.parse(text)
  if (url !== null && url.protocol === 'http:') return url
  throw new Failure(
    'input',
    `the \`proxy-url\` of context ${name} is not an http:// URL, and no other kind of proxy is supported.`,
  )
}

/** Also fills in the client certificate. */
async function headersOf(context: KubeContext, tls: TlsFields, place: ClusterPlace): Promise<Record<string, string>> {
  const { user, userFolder } = context
  const cert = bytesOf(user, 'client-certificate', userFolder)
  const key = bytesOf(user, 'client-key', userFolder)
  if (cert && key) Object.assign(tls, { cert, key })
  if (user['auth-provider'] !== undefined) {
    throw new Failure(
      'input',
      `the user of context ${context.name} has an \`auth-provider\`, which Kubernetes dropped.`,
      {
        help: 'Let the tool that wrote the kubeconfig write an `exec` plugin instead.',
      },
    )
  }
  const headers = impersonation(user)
  const tokenFile = asText(user.tokenFile)
  const token = tokenFile === undefined ? asText(user.token) : readText(resolve(userFolder, tokenFile)).trim()
  const [name, password] = [asText(user.username), asText(user.password)]
  if (token !== undefined) headers.authorization = `Bearer ${token}`
  else if (name !== undefined) {
    headers.authorization = `Basic ${Buffer.from(`${name}:${password ?? ''}`).toString('base64')}`
  } else if (user.exec !== undefined && tls.cert === undefined) {
    const made = await execCredential(context, place)
    if (made.token !== undefined) headers.authorization = `Bearer ${made.token}`
    if (made.cert && made.key) Object.assign(tls, { cert: made.cert, key: made.key })
  }
  return headers
}

function impersonation(user: Fields): Record<string, string> {
  const name = asText(user.as)
  const groups = asList(user['as-groups']).map(textOf)
  if (groups.length > 1 || asItems([user['as-user-extra']]).length > 0) {
    throw new Failure('input', 'impersonation with several groups or extra fields is not supported.')
  }
  return {
    ...(name === undefined ? {} : { 'impersonate-user': name }),
    ...(groups[0] === undefined ? {} : { 'impersonate-group': groups[0] }),
  }
}

/** The inline data, or the content of the named file. */
function bytesOf(holder: Fields, field: string, folder: string): Buffer | undefined {
  const data = asText(holder[`${field}-data`])
  if (data !== undefined) return Buffer.from(data, 'base64')
  const path = asText(holder[field])
  return path === undefined ? undefined : Buffer.from(readText(resolve(folder, path)))
}

function readText(path: string): string {
  try {
    return readRegularFile(path).toString('utf8')
  } catch (error) {
    throw cannotRead(`${path}, which the kubeconfig names`, error)
  }
}

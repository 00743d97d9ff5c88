import { randomBytes } from 'node:crypto'
import { type Provisioned, provision as provisionResources } from '../../cluster/provision/provision.ts'
import type { KubeObject } from '../../cluster/provision/replica.ts'
import { gather } from '../../cluster/translate/gather.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { printYaml } from '../../diagnostics/print-yaml.ts'
import type { CheckReport } from '../../diagnostics/render/report.ts'
import { parseSource } from '../../diagnostics/source.ts'
import { type InputPlace, type InputText, readInput } from '../input/input-files.ts'
import { shownTexts } from '../input/shown-texts.ts'
import { readTexts, requireGateway, resourcesIn } from '../input/translate-resources.ts'
import type { ClusterPlace } from '../kube-api/kubeconfig.ts'
import type { ClusterRequest, ClusterTold } from '../kube-api/read-cluster.ts'

export interface ProvisionRequest {
  readonly paths: readonly string[]
  readonly format: 'yaml' | 'json' | 'diff'
  readonly partial: boolean
  readonly version: string
  /** `namespace/name` of the only Gateway. */
  readonly gateway: string | undefined
  readonly sessionKeyFile: string | undefined
  /** Replaces the paths. */
  readonly cluster: ClusterRequest | undefined
}

export interface Provisioning {
  readonly report: CheckReport
  /** Undefined if there are mistakes: nothing is to be applied. */
  readonly text: string | undefined
  /** A diff was requested, and there are differences. */
  readonly differs: boolean
  readonly notes: readonly string[]
}

/** Provisions the Gateways of files or of a cluster. Throws a Failure if there are none. */
export async function provision(
  request: ProvisionRequest,
  place: InputPlace & ClusterPlace,
  told: ClusterTold,
): Promise<Provisioning> {
  const { cluster, format, paths } = request
  if (cluster && paths.length > 0) throw new Failure('usage', 'Either a cluster or files can be provisioned, not both.')
  if (format === 'diff' && !cluster) {
    throw new Failure('usage', '-o diff compares with a cluster.', { help: 'Add --kube, and -n NAMESPACE or -A.' })
  }
  const newKey = await keyMaker(request, place)
  const texts = await inputOf(request, place, told)
  const { gateways, report } = await provisionTexts(texts, { ...request, cwd: place.cwd, newKey })
  const notes = notesOn(gateways, request.version)
  if (report.diagnostics.some(({ severity }) => severity === 'error')) {
    return { report, text: undefined, differs: false, notes: [] }
  }
  const objects = gateways.flatMap(each => each.objects)
  if (format !== 'diff' || !cluster) {
    const text = format === 'json' ? `${JSON.stringify(listOf(objects), null, 2)}\n` : renderObjects(objects)
    return { report, text, differs: false, notes }
  }
  const { readObjects } = await import('../kube-api/read-objects.ts')
  const { objectName, renderChanges } = await import('./differences.ts')
  const text = renderChanges(objects, await readObjects(objects.map(objectName), cluster, place))
  return { report, text, differs: text !== '', notes: text === '' ? ['Nothing would change.'] : [] }
}

async function inputOf({ paths, cluster }: ProvisionRequest, place: InputPlace & ClusterPlace, told: ClusterTold) {
  if (cluster) {
    const { readCluster } = await import('../kube-api/read-cluster.ts')
    return readCluster(cluster, place, told)
  }
  if (paths.length > 0) return readTexts(paths, place)
  throw new Failure('usage', 'Nothing to provision.', {
    help: 'Name files or directories, for example: gwctl provision -f k8s/, - for stdin, or --kube.',
  })
}

/** In a cluster, a missing Secret gets a new key; for files it is unknown whether there is one. */
async function keyMaker({ sessionKeyFile, cluster }: ProvisionRequest, place: InputPlace) {
  if (sessionKeyFile === undefined) return () => (cluster ? randomBytes(32).toString('hex') : undefined)
  const key = (await readInput(sessionKeyFile, place)).text.trim()
  if (/^[0-9a-f]{64}$/i.test(key)) return () => key
  throw new Failure('input', `${sessionKeyFile} holds no session key.`, {
    help: 'Write 64 hexadecimal digits into it, for example: openssl rand -hex 32 > session.key',
  })
}

export interface TextsRequest {
  readonly cwd: string
  readonly partial: boolean
  readonly version: string
  readonly gateway?: string | undefined
  newKey(): string | undefined
}

/** The objects that run the Gateways of these resources, and the mistakes. */
export async function provisionTexts(texts: readonly InputText[], request: TextsRequest) {
  const { cwd, partial, version, gateway, newKey } = request
  const sources = texts.map(({ file, text }) => ({ file, source: parseSource(file, text) }))
  const { inputs, skipped } = resourcesIn(sources)
  const gathered = await gather(inputs, { partial })
  if (gateway !== undefined) requireGateway(gateway, gathered.resources)
  const only = gateway === undefined ? {} : { gateway }
  const { gateways, diagnostics: found } = await provisionResources(gathered.resources, { version, newKey, ...only })
  const diagnostics = [...sources.flatMap(({ source }) => source.diagnostics), ...gathered.diagnostics, ...found]
  if (gateways.length === 0 && diagnostics.every(({ severity }) => severity !== 'error')) {
    throw new Failure('input', 'there is no Gateway to provision.', {
      help: 'Name files with a Gateway of a GatewayClass whose controller is agentgateway.dev/agentgateway.',
    })
  }
  const report: CheckReport = {
    diagnostics,
    files: sources.length,
    documents: gathered.documents,
    skipped,
    textOf: await shownTexts(new Map(sources.map(({ file, source }) => [file, source.text])), diagnostics),
    cwd,
  }
  return { gateways, report }
}

/** One YAML stream, for `kubectl apply --server-side -f -`. */
export function renderObjects(objects: readonly KubeObject[]): string {
  return objects.map(object => printYaml(object)).join('---\n')
}

function listOf(items: readonly KubeObject[]) {
  return { apiVersion: 'v1', kind: 'List', items }
}

function notesOn(gateways: readonly Provisioned[], version: string): string[] {
  const without = gateways.filter(each => each.withoutKey).map(({ keySecret }) => keySecret)
  const keys =
    without.length === 0
      ? []
      : [
          `No session key in ${without.join(', ')}: each replica makes its own, and sessions do not outlive it. Pass ` +
            '--session-key FILE, or --kube, which makes one and keeps it.',
        ]
  const images = gateways.some(each => each.ownImage)
    ? [`The image gwctl:${version} is built by the Dockerfile of gwctl; \`image\` of ProxyParameters names another.`]
    : []
  return [...keys, ...images]
}

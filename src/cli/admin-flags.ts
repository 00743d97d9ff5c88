import * as Flags from '@oclif/core/flags'
import type { InferredFlags } from '@oclif/core/interfaces'
import { Failure } from '../diagnostics/failure.ts'
import type { AdminServer } from '../tools/admin/admin-client.ts'
import type { Waiting } from '../tools/admin/waiting.ts'
import type { PodsRequest, PodsTold } from '../tools/kube-api/admin-pods.ts'
import { clusterChoice, clusterFlags } from './cluster-flags.ts'
import { durationFlag } from './flags.ts'
import type { Io } from './io.ts'

const inCluster = { dependsOn: ['kube'], helpGroup: 'cluster' }

/** Select the running gateway to query. */
export const adminFlags = {
  admin: Flags.string({
    helpValue: 'URL',
    summary: 'Admin server to query (also GWCTL_ADMIN).',
    exclusive: ['local', 'kube'],
  }),
  local: Flags.boolean({
    summary: 'Query the admin server of this machine, http://127.0.0.1:15000.',
    exclusive: ['kube'],
  }),
  timeout: durationFlag({
    summary: 'Give up, with exit code 5, when the admin server does not respond for this long; 10s when unset.',
  }),
  kube: Flags.string({
    helpValue: '[[TYPE/]NAME[.NS]]',
    summary:
      'Query a pod in a cluster: one of the Gateway NAME, or of the TYPE pod, service, deployment, replicaset, ' +
      'statefulset or daemonset; without a NAME, one of the only Gateway.',
    helpGroup: 'cluster',
  }),
  ...clusterFlags('kube'),
  pod: Flags.string({ helpValue: 'NAME', summary: 'Which of several pods to query.', ...inCluster }),
  'admin-port': Flags.integer({
    min: 1,
    max: 65_535,
    helpValue: 'PORT',
    summary: 'The port of the admin server in the pod; 15000 when unset.',
    ...inCluster,
  }),
}

/** For commands that can query every pod; `exclusive`: flags that this rules out. */
export function allPodsFlag(summary = 'Query all pods instead of one.', exclusive: string[] = []) {
  return Flags.boolean({ summary, exclusive: ['pod', ...exclusive], ...inCluster })
}

type AdminFlags = InferredFlags<typeof adminFlags>

/** The server to query; of several pods the first that is ready, which is reported. Throws a Failure. */
export async function adminServer(flags: AdminFlags, io: Io, told: PodsTold, waiting?: Waiting): Promise<AdminServer> {
  const request = podsRequest(flags, waiting)
  if (request === undefined) {
    const { adminServerAt } = await import('../tools/admin/admin-client.ts')
    return { ...adminServerAt(adminUrl(flags, io.env)), ...timeoutOption(flags) }
  }
  const { adminPod } = await import('../tools/kube-api/admin-pods.ts')
  return adminPod(request, io, told)
}

/** All servers to query: those of every pod if `all` is set. Throws a Failure. */
export async function adminServers(
  flags: AdminFlags,
  all: boolean,
  io: Io,
  told: PodsTold,
  waiting?: Waiting,
): Promise<readonly AdminServer[]> {
  const request = podsRequest(flags, waiting)
  if (request === undefined || !all) return [await adminServer(flags, io, told, waiting)]
  const { adminPods } = await import('../tools/kube-api/admin-pods.ts')
  return adminPods(request, io)
}

function podsRequest(flags: AdminFlags, waiting?: Waiting): PodsRequest | undefined {
  const { kube: target, pod, 'admin-port': port = 15_000 } = flags
  if (target === undefined) return undefined
  return {
    target,
    port,
    ...clusterChoice(flags),
    ...(pod === undefined ? {} : { pod }),
    ...timeoutOption(flags),
    ...(waiting === undefined ? {} : { waiting }),
  }
}

function timeoutOption({ timeout }: AdminFlags): { readonly patience?: number } {
  return timeout === undefined ? {} : { patience: timeout }
}

/** The flag, then the environment, then the default address of `gwctl run`. */
function adminUrl(flags: { readonly admin?: string | undefined; readonly local: boolean }, env: Io['env']): URL {
  // An empty variable counts as unset.
  const text = flags.local ? undefined : (flags.admin ?? (env.GWCTL_ADMIN || undefined))
  const complete = text === undefined || /^(?:\w+:\/\/|unix:)/.test(text)
  const url = URL.parse(text === undefined ? 'http://127.0.0.1:15000' : complete ? text : `http://${text}`)
  if (url === null || !['http:', 'https:', 'unix:'].includes(url.protocol)) {
    throw new Failure('usage', `${text} is not a URL of an admin server.`, {
      help: 'Write http://HOST:PORT or unix:/PATH, for example http://127.0.0.1:15000.',
    })
  }
  return url
}

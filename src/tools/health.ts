import { Failure } from '../diagnostics/failure.ts'
import type { Paint } from '../diagnostics/paint.ts'
import { type AdminServer, getReadiness } from './admin/admin-client.ts'
import type { Asked } from './admin/ask-each.ts'
import type { Waiting } from './admin/waiting.ts'
import { modelOf } from './config-dump/model.ts'
import { fetchDump } from './config-dump/read.ts'

export interface Health {
  readonly ready: boolean
  /** What it is waiting for, in its own words. */
  readonly pending?: string
  readonly backends: readonly BackendHealth[]
}

export interface BackendHealth {
  readonly backend: string
  readonly state: 'healthy' | 'degraded' | 'down'
  readonly endpoints: number
  readonly evicted: readonly string[]
}

/** Throws a Failure `unreachable`, or `timeout` if the gateway does not become ready while waiting. */
export async function askHealth(admin: AdminServer, waiting?: Waiting): Promise<Health> {
  if (waiting === undefined) {
    const { ready, words } = await getReadiness(admin)
    return ready ? { ready, backends: await backendsOf(admin) } : { ready, pending: words, backends: [] }
  }
  await untilReady(admin, waiting)
  return { ready: true, backends: await backendsOf(admin) }
}

async function untilReady(admin: AdminServer, waiting: Waiting): Promise<void> {
  for (;;) {
    const answer = await getReadiness(admin, waiting.patience).catch((error: unknown) => {
      if (error instanceof Failure) return error
      throw error
    })
    if (!(answer instanceof Failure) && answer.ready) return
    await waiting.again(answer)
  }
}

export function isHealthy({ ready, backends }: Health): boolean {
  return ready && backends.every(({ state }) => state !== 'down')
}

/** `byPod`: under the names of the pods. */
export function healthOutput(
  answers: Asked<Health>['answers'],
  byPod: boolean,
  format: 'text' | 'json',
  paint: Paint,
): string {
  const [first] = answers
  if (format === 'json') {
    const value = byPod ? answers.map(({ admin, value }) => ({ pod: admin.pod, ...value })) : first?.value
    return `${JSON.stringify(value, null, 2)}\n`
  }
  if (!byPod) return answers.map(({ value }) => healthText(value, paint)).join('')
  const indented = (health: Health) => healthText(health, paint).replaceAll(/^(?=.)/gm, '  ')
  return answers.map(({ admin, value }) => `${paint.bold(admin.pod ?? admin.name)}\n${indented(value)}`).join('')
}

function healthText({ ready, pending, backends }: Health, paint: Paint): string {
  const lines = [ready ? paint.success('ready') : paint.error(pending ?? 'not ready')]
  for (const { backend, state, endpoints, evicted } of backends) {
    const words = `${backend}: ${endpoints - evicted.length} of ${endpoints} endpoints healthy`
    const left = evicted.length === 0 ? '' : `, left out: ${evicted.join(' ')}`
    const colour = state === 'healthy' ? paint.success : state === 'degraded' ? paint.warning : paint.error
    lines.push(`${colour(state)} ${words}${left}`)
  }
  return `${lines.join('\n')}\n`
}

/** Backends whose endpoint health is tracked. */
async function backendsOf(admin: AdminServer): Promise<readonly BackendHealth[]> {
  const { backends } = modelOf(await fetchDump(admin), 'the answer')
  return backends.flatMap(({ key, health }) => {
    if (!Array.isArray(health) || health.length === 0) return []
    const facts = health as readonly { readonly endpoint?: unknown; readonly state?: unknown }[]
    const evicted = facts.filter(({ state }) => state === 'evicted').map(({ endpoint }) => String(endpoint))
    const state = evicted.length === 0 ? 'healthy' : evicted.length === facts.length ? 'down' : 'degraded'
    return [{ backend: key, state, endpoints: facts.length, evicted }]
  })
}

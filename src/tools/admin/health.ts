import { Failure } from '../../diagnostics/failure.ts'
import type { Paint } from '../../diagnostics/paint.ts'
import { systemClock } from '../../engine/clock.ts'
import type { Clock } from '../../http/runtime.ts'
import { type AdminServer, getReadiness } from '../admin-client.ts'
import { modelOf } from '../dump/model.ts'
import { fetchDump } from '../dump/read.ts'
import type { Asked } from './ask-each.ts'

export interface Health {
  readonly ready: boolean
  /** What it waits for, in its own words. */
  readonly pending?: string
  readonly backends: readonly BackendHealth[]
}

export interface BackendHealth {
  readonly backend: string
  readonly state: 'healthy' | 'degraded' | 'down'
  readonly endpoints: number
  readonly evicted: readonly string[]
}

/** ms between two questions. */
const PAUSE = 200

/** `wait`: ms in which the gateway may become ready. Throws a Failure `unreachable`, or `timeout` when it does not. */
export async function askHealth(admin: AdminServer, wait?: number, clock: Clock = systemClock): Promise<Health> {
  if (wait === undefined) {
    const { ready, words } = await getReadiness(admin)
    return ready ? { ready, backends: await backendsOf(admin) } : { ready, pending: words, backends: [] }
  }
  await untilReady(admin, wait, clock)
  return { ready: true, backends: await backendsOf(admin) }
}

async function untilReady(admin: AdminServer, wait: number, clock: Clock): Promise<void> {
  const deadline = clock.mono() + wait
  for (;;) {
    const patience = { ms: Math.max(PAUSE, Math.ceil(deadline - clock.mono())), clock }
    const answer = await getReadiness(admin, patience).catch((error: unknown) => {
      if (error instanceof Failure) return error
      throw error
    })
    if (!(answer instanceof Failure) && answer.ready) return
    const left = deadline - clock.mono()
    if (left <= 0) throw notReady(wait, answer)
    await new Promise<void>(resolve => void clock.after(Math.min(PAUSE, left), resolve, 'held'))
  }
}

function notReady(wait: number, answer: Failure | { readonly words: string }): Failure {
  const reason = answer instanceof Failure ? answer.message : `${answer.words}.`
  const message = `the gateway is not ready after ${wait / 1000}s: ${reason}`
  // That it is silent is no reason to wait longer for one answer: it is asked again and again.
  const help = answer instanceof Failure && answer.kind !== 'timeout' ? answer.help : undefined
  return new Failure('timeout', message, help === undefined ? {} : { help })
}

export function isHealthy({ ready, backends }: Health): boolean {
  return ready && backends.every(({ state }) => state !== 'down')
}

/** `byPod`: each under the name of its pod. */
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

/** Those whose endpoints are watched; of the others nobody knows. */
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

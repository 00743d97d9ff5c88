import { valueAt } from '../../config/compile-context.ts'
import { type Code, severityOf } from '../../diagnostics/codes.ts'
import type { Finding, Path } from '../../diagnostics/diagnostic.ts'
import { GUARDS } from '../kinds/parts/members.ts'
import { labelOf } from '../resources/resource.ts'
import type { From } from './origin/origins.ts'
import type { Entry } from './output.ts'
import type { Work } from './work.ts'

type File = Record<string, unknown>

export function isFatal({ code }: Finding): boolean {
  return severityOf(code) === 'error' || code.startsWith('GW6')
}

/**
 * Removes the smallest removable part around a finding. A removed guard is replaced by a refusal. False if there is
 * nothing to remove.
 */
export function prune(file: File, findings: readonly Finding[], work: Work): boolean {
  const removals: Removal[] = []
  for (const finding of findings.filter(isFatal)) {
    const part = smallest(removable(file, finding.path), finding)
    const from = work.origins.at(file, finding.path) ?? work.origins.at(file, part)
    const guard = GUARDS.has(String(guardName(part))) && !work.options.allowUnguarded
    if (from) {
      const unserved = finding.code.startsWith('GW6')
      const gone = guard ? 'is left out, and every request is refused in its place' : 'is left out'
      work.lose(from, `${nameOf(part, work.origins.at(file, part))} ${gone}: ${finding.message}`, {
        ...(unserved ? { unserved } : { refused: !LACKS.has(finding.code) }),
        ...(finding.note === undefined ? {} : { note: finding.note }),
      })
    }
    removals.push({ part, guard })
  }
  const unique = new Map(removals.map(removal => [JSON.stringify(removal.part), removal]))
  // Backwards, so that indices stay valid.
  const ordered = [...unique.values()].sort((a, b) => backwards(a.part, b.part))
  for (const removal of ordered) remove(file, removal, work)
  dropDangling(file)
  return ordered.length > 0
}

/** The resource is complete: what is missing comes from a Secret, or from a selector without matches. */
const LACKS: ReadonlySet<Code> = new Set(['GW103', 'GW107', 'GW109'])

interface Removal {
  readonly part: Path
  readonly guard: boolean
}

/** The name in the resource, or in the file if there is no specific origin. */
function nameOf(part: Path, from: From | undefined): string {
  if (from !== undefined && from.path.length < 2) return labelOf(from.resource)
  return `\`${(from?.path ?? part).filter(step => typeof step === 'string').join('.')}\``
}

function guardName(part: Path): string | number | undefined {
  return part[0] === 'policies' ? part[2] : part.at(-1)
}

/**
 * An unserved setting is removed by itself, unless it belongs to a guard, which would then be weaker. If the rest is
 * invalid without it, the next round removes more.
 */
function smallest(part: Path, { code, path }: Finding): Path {
  const policies = path.lastIndexOf('policies')
  const settings = policies >= 0 || path[0] === 'frontendPolicies' || path[0] === 'config'
  if (!code.startsWith('GW6') || !settings || path.slice(policies + 1, -1).some(step => GUARDS.has(String(step))))
    return part
  const whole = path[0] === 'policies' ? 4 : part.length
  return path.length > whole ? path : part
}

/** The smallest part around `path` that the file does not require. */
function removable(file: File, path: Path): Path {
  const [section, index] = path
  if (section === 'policies') {
    const policy = (valueAt(file, ['policies', index!, 'policy']) ?? {}) as Entry
    const name = Object.keys(policy)[0] ?? ''
    const inner = path.indexOf(name, 2)
    if (name === 'ai' && inner >= 0 && path.length > inner + 1) return path.slice(0, inner + 2)
    return ['policies', index!, name]
  }
  const at = path.lastIndexOf('policies')
  if (at >= 0 && path.length > at + 1) {
    const deep = path[at + 1] === 'ai' && path.length > at + 2 ? 3 : 2
    return path.slice(0, at + deep)
  }
  if (section === 'gateways') return path[2] === 'listeners' && path.length > 3 ? path.slice(0, 4) : path.slice(0, 2)
  if (section === 'routes' || section === 'tcpRoutes')
    return path[2] === 'backends' && path.length > 3 ? path.slice(0, 4) : path.slice(0, 2)
  if (section === 'llm') {
    const optional = [
      'guardrails',
      'promptCaching',
      'finalTransformation',
      'transformation',
      'auth',
      'health',
      'tls',
      'backendTunnel',
      'authorization',
    ]
    if (path[1] === 'models' && optional.includes(String(path[3]))) return path.slice(0, 4)
    return path.length > 2 ? path.slice(0, 3) : ['llm']
  }
  const target = path.indexOf('targets')
  if (section === 'backends' && target > 0 && path.length > target + 1) return path.slice(0, target + 2)
  return path.slice(0, 2)
}

function backwards(a: Path, b: Path): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const [x, y] = [a[i], b[i]]
    if (x === y) continue
    if (typeof x === 'number' && typeof y === 'number') return y - x
    if (x === undefined) return 1
    if (y === undefined) return -1
    return String(x) < String(y) ? -1 : 1
  }
  return 0
}

const REFUSED = { rules: [{ deny: 'true' }] }

function remove(file: File, { part, guard }: Removal, work: Work): void {
  const [section, index] = part
  if (section === 'policies' && part.length === 3) {
    const list = file.policies as Entry[]
    const entry = list[Number(index)]!
    if (guard) {
      const replaced: Entry = { ...entry, policy: { authorization: REFUSED } }
      const from = work.origins.own({}, '', entry)
      list[Number(index)] = from ? work.origins.mark(replaced, from) : replaced
    } else list.splice(Number(index), 1)
    return
  }
  if ((section === 'routes' || section === 'tcpRoutes') && part.length === 4 && part[2] === 'backends') {
    const list = valueAt(file, part.slice(0, 3)) as Entry[]
    if (section === 'tcpRoutes') list.splice(Number(part[3]), 1)
    else list[Number(part[3])] = invalidIn(list[Number(part[3])]!, work)
    return
  }
  const holder = valueAt(file, part.slice(0, -1)) as Entry | unknown[] | undefined
  if (holder === undefined) return
  const last = part.at(-1)!
  if (Array.isArray(holder)) holder.splice(Number(last), 1)
  else delete holder[last]
  if (guard) refuse(file, part)
}

function invalidIn(entry: Entry, work: Work): Entry {
  const out: Entry = { ...(entry.weight === undefined ? {} : { weight: entry.weight }), invalid: null }
  const from = work.origins.own({}, '', entry)
  return from ? work.origins.mark(out, from) : out
}

/** Refuses all requests where a guard is missing. */
function refuse(file: File, part: Path): void {
  const [section, index] = part
  if (section === 'frontendPolicies') {
    ;(file.frontendPolicies as Entry).networkAuthorization = REFUSED
    return
  }
  const owner =
    section === 'llm'
      ? valueAt(file, part.slice(0, 3))
      : section === 'routes' || section === 'backends'
        ? valueAt(file, [section, index!])
        : undefined
  if (!owner) return
  const inBackend =
    section === 'routes' && part[2] === 'backends' ? (valueAt(file, part.slice(0, 4)) as Entry) : (owner as Entry)
  if (section === 'llm') inBackend.authorization = REFUSED
  else inBackend.policies = { ...(inBackend.policies as Entry | undefined), authorization: REFUSED }
}

/** Removes references to removed parts. */
function dropDangling(file: File): void {
  const gateways = (file.gateways ?? {}) as Record<string, { listeners: { name: string }[] }>
  for (const [key, { listeners }] of Object.entries(gateways)) if (listeners.length === 0) delete gateways[key]
  const known = new Set(
    Object.entries(gateways).flatMap(([key, { listeners }]) => listeners.map(({ name }) => `${key}/${name}`)),
  )
  for (const section of ['routes', 'tcpRoutes']) {
    const kept = ((file[section] ?? []) as Entry[]).filter(entry => {
      entry.gateways = (entry.gateways as string[]).filter(ref => known.has(ref))
      return (entry.gateways as string[]).length > 0
    })
    file[section] = kept
  }
  const names = new Set(
    ((file.backends ?? []) as Entry[]).map(({ name, namespace }) => `${String(namespace)}/${String(name)}`),
  )
  for (const route of (file.routes ?? []) as Entry[]) {
    for (const backend of (route.backends ?? []) as Entry[]) {
      if (typeof backend.backend !== 'string' || names.has(backend.backend)) continue
      delete backend.backend
      backend.invalid = null
    }
  }
  pruneModels(file, known)
  for (const section of ['gateways', 'routes', 'tcpRoutes', 'policies', 'backends', 'frontendPolicies', 'config']) {
    const value = file[section]
    if (value !== undefined && Object.keys(value as object).length === 0) delete file[section]
  }
}

function pruneModels(file: File, known: ReadonlySet<string>): void {
  const llm = file.llm as { gateways: string[]; models: Entry[]; virtualModels?: Entry[] } | undefined
  if (!llm) return
  llm.gateways = llm.gateways.filter(ref => known.has(ref))
  if (llm.models.length === 0 || llm.gateways.length === 0) delete file.llm
  if (llm.virtualModels?.length === 0) delete llm.virtualModels
}

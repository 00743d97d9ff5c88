import { pluralOf } from '../../cluster/kinds/crd.ts'
import { amountOf } from '../../cluster/provision/quantity.ts'
import type { KubeObject } from '../../cluster/provision/replica.ts'
import { printYaml } from '../../diagnostics/print-yaml.ts'
import { asFields, type Fields } from '../../schema/untyped.ts'
import { diffLines } from '../check/line-diff.ts'
import type { ObjectName } from '../kube-api/read-objects.ts'

export function objectName({ apiVersion, kind, metadata }: KubeObject): ObjectName {
  const namespace = typeof metadata.namespace === 'string' ? metadata.namespace : undefined
  return { apiVersion, plural: pluralOf(kind), namespace, name: metadata.name }
}

/**
 * The changes that applying the objects would make; empty for none. `live`: their current state in the cluster, in the
 * same order.
 */
export function renderChanges(objects: readonly KubeObject[], live: readonly (Fields | undefined)[]): string {
  return objects.map((object, i) => changeOf(object, live[i])).join('')
}

function changeOf(object: KubeObject, live: Fields | undefined): string {
  const { namespace, name } = object.metadata
  const label = `${object.kind} ${namespace === undefined ? '' : `${String(namespace)}/`}${name}`
  const now = printYaml(concealed(object, live)).trimEnd().split('\n')
  if (!live) return `+ ${label}\n${now.map(line => `+   ${line}\n`).join('')}`
  const before = printYaml(concealed(common(live, object) as KubeObject, undefined))
    .trimEnd()
    .split('\n')
  const lines = diffLines(before, now)
  if (lines.every(({ side }) => side === 'both')) return ''
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - 3), i + 4).some(({ side }) => side !== 'both'))
  const shown = lines.flatMap(({ side, text }, i) => {
    if (!near[i]) return near[i - 1] ? ['  ...\n'] : []
    return [`${side === 'both' ? ' ' : side === 'left' ? '-' : '+'}   ${text}\n`]
  })
  return `~ ${label}\n${shown.join('')}`
}

/** Values of Secrets are compared but not shown. */
function concealed(object: KubeObject, live: Fields | undefined): Fields {
  const data = object.kind === 'Secret' ? asFields(object.data) : undefined
  if (!data) return object
  const held = asFields(live?.data)
  const shown = Object.entries(data).map(([key, value]) => {
    return [key, held && held[key] !== value ? '<another value>' : '<redacted>'] as const
  })
  return { ...object, data: Object.fromEntries(shown) }
}

/** The part of a live object that ours defines: defaults and others' changes are left out. */
function common(live: unknown, ours: unknown, within = ''): unknown {
  if (Array.isArray(live) && Array.isArray(ours)) {
    const found = ours.map((item, i) => common(same(live, item) ?? (isNamed(item) ? undefined : live[i]), item))
    return found.filter(item => item !== undefined)
  }
  const [held, wanted] = [asFields(live), asFields(ours)]
  if (!held || !wanted) return live
  return Object.fromEntries(
    Object.keys(wanted).flatMap(key => {
      if (held[key] === undefined) return []
      // A server normalizes quantities.
      const quantity = QUANTITIES.includes(key) || QUANTITIES.includes(within)
      if (quantity && amountOf(held[key]) === amountOf(wanted[key])) return [[key, wanted[key]]]
      return [[key, common(held[key], wanted[key], key)]]
    }),
  )
}

/** Quantities, and maps of them. */
const QUANTITIES: readonly string[] = ['limits', 'requests', 'divisor', 'sizeLimit', 'averageValue']

/** Fields that identify items of lists. */
const NAMES = ['name', 'containerPort', 'mountPath', 'ip', 'topologyKey', 'devicePath'] as const

function isNamed(item: unknown): boolean {
  return NAMES.some(key => asFields(item)?.[key] !== undefined)
}

function same(live: readonly unknown[], item: unknown): unknown {
  const key = NAMES.find(name => asFields(item)?.[name] !== undefined)
  return key === undefined ? undefined : live.find(each => asFields(each)?.[key] === asFields(item)![key])
}

import { isObject, type JsonObject } from './message.ts'

/** Actions for a tool that differs from its reviewed version. */
export const ON_CHANGE = ['refuse', 'hide', 'report'] as const
export type OnChange = (typeof ON_CHANGE)[number]

export type Tools = ReadonlyMap<string, JsonObject>

/** Reviewed tools, by target and their own names. */
export interface ToolLock {
  readonly onChange: OnChange
  readonly targets: ReadonlyMap<string, Tools>
}

/** Parses a lock file; otherwise returns the problem. */
export function readToolLock(text: string): ToolLock | { readonly problem: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { problem: 'it is not JSON' }
  }
  if (!isObject(value) || !isObject(value.targets)) return { problem: '`targets` is missing' }
  const onChange = ON_CHANGE.find(each => each === value.onChange)
  if (onChange === undefined) return { problem: `\`onChange\` is not one of ${ON_CHANGE.join(', ')}` }
  const targets = new Map<string, Tools>()
  for (const [target, tools] of Object.entries(value.targets)) {
    if (!isObject(tools)) return { problem: `the tools of \`${target}\` are not an object` }
    const entries = Object.entries(tools)
    const bad = entries.find(([, tool]) => !isObject(tool))
    if (bad) return { problem: `the tool \`${bad[0]}\` of \`${target}\` is not an object` }
    targets.set(target, new Map(entries as [string, JsonObject][]))
  }
  return { onChange, targets }
}

/** The lock file, sorted, so that a diff of two files shows only changed tools. */
export function toolLockText({ onChange, targets }: ToolLock): string {
  const value = Object.fromEntries([...targets].map(([target, tools]) => [target, Object.fromEntries(tools)]))
  return `${JSON.stringify({ onChange, targets: sorted(value) }, undefined, 2)}\n`
}

/** The reviewed part of a tool: everything that a model or a person reads, nothing that only programs do. */
export function lockedPart({ name: _name, _meta, icons: _icons, ...tool }: JsonObject): JsonObject {
  return tool
}

export function isAsLocked(locked: JsonObject, tool: JsonObject): boolean {
  return JSON.stringify(sorted(locked)) === JSON.stringify(sorted(lockedPart(tool)))
}

/** Servers may reorder members. Lists keep their order, which may be significant. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map(key => [key, sorted(value[key])]),
  )
}

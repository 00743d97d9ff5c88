import { isObject, type JsonObject } from './message.ts'

/** What becomes of a tool that is not as it was reviewed. */
export const ON_CHANGE = ['refuse', 'hide', 'report'] as const
export type OnChange = (typeof ON_CHANGE)[number]

export type Tools = ReadonlyMap<string, JsonObject>

/** Tools as somebody has reviewed them: by target, under their own names. */
export interface ToolLock {
  readonly onChange: OnChange
  readonly targets: ReadonlyMap<string, Tools>
}

/** Reads the file of a lock; what is wrong with it otherwise. */
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

/** The file: sorted, so that a difference between two of them is a difference between tools. */
export function toolLockText({ onChange, targets }: ToolLock): string {
  const value = Object.fromEntries([...targets].map(([target, tools]) => [target, Object.fromEntries(tools)]))
  return `${JSON.stringify({ onChange, targets: sorted(value) }, undefined, 2)}\n`
}

/** What is reviewed of a tool: everything that a model or a person reads of it, and nothing for programs. */
export function lockedPart({ name: _name, _meta, icons: _icons, ...tool }: JsonObject): JsonObject {
  return tool
}

export function isAsLocked(locked: JsonObject, tool: JsonObject): boolean {
  return JSON.stringify(sorted(locked)) === JSON.stringify(sorted(lockedPart(tool)))
}

/** Servers may say the same in another order. Lists keep theirs, which may mean something. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map(key => [key, sorted(value[key])]),
  )
}

import type { Path } from '../../diagnostics/diagnostic.ts'
import { transformations } from '../../policies/transformations.ts'
import type { Infer } from '../../schema/builder.ts'
import type { Compilation } from '../compile-context.ts'
import type { PolicyLevel } from '../compile-policies.ts'

type Spec = Infer<typeof transformations.schema>
type Sides = Pick<Spec, 'request' | 'response'>

/** Parts of a transformation that have no effect where it is attached. */
export interface Idle {
  readonly parts: readonly (readonly ['request' | 'response', 'body'?])[]
  readonly message: string
  readonly help: string
}

export const IDLE_ON_PARTS: Idle = {
  // A part is called with a body that its backend built, so only the head can still be changed.
  parts: [
    ['request', 'body'],
    ['response', 'body'],
  ],
  message: 'transformations of bodies are not served on a part of a backend',
  help: 'put them on the route or on the whole backend',
}

export const IDLE_ON_CALLEES: Idle = {
  parts: [['response']],
  message: 'transformations of replies are not served where the gateway itself is the client',
  help: 'transform the requests only',
}

export function reportIdle({ specs, path, fieldOf }: PolicyLevel, idle: Idle, c: Compilation): void {
  const spec = specs[transformations.name] as Spec | undefined
  if (spec === undefined) return
  const at = [...path, fieldOf?.(transformations.name) ?? transformations.name]
  report(spec, at, idle, c)
  for (const [i, entry] of (spec.conditional ?? []).entries()) report(entry, [...at, 'conditional', i], idle, c)
}

function report(sides: Sides, at: Path, { parts, message, help }: Idle, c: Compilation): void {
  for (const [side, member] of parts) {
    const found = member === undefined ? sides[side] : sides[side]?.[member]
    if (found === undefined) continue
    const path = [...at, side, ...(member === undefined ? [] : [member])]
    c.report({ code: 'GW601', message, path, at: 'key', label: 'gwctl run refuses to start with this', help })
  }
}

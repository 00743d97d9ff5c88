import type { Pause } from '../runtime/pause.ts'
import type { Schema } from './builder.ts'
import { decode } from './decode.ts'
import { type DecodeContext, isRecord } from './decode-context.ts'
import { type Conceal, redact } from './redact.ts'

/** Decodes the items of an object's lists beforehand, with pauses: what `known` of the context is for. */
export async function decodeItems(
  { node }: Schema<unknown>,
  value: unknown,
  ctx: DecodeContext,
  pause: Pause,
): Promise<ReadonlyMap<unknown, unknown>> {
  const known = new Map<unknown, unknown>()
  if (node.kind !== 'object' || !isRecord(value)) return known
  for (const { name, field } of node.index().list) {
    const { node: list } = field.schema
    const items = value[name]
    if (list.kind !== 'list' || !Array.isArray(items)) continue
    for (const [i, item] of items.entries()) {
      if (isRecord(item)) known.set(item, decode(list.item, item, [name, i], ctx))
      const rest = pause()
      if (rest) await rest
    }
  }
  return known
}

/** Items of a list that are redacted at a time. */
const AT_ONCE = 100

/** The same as `redact`, with pauses within the lists of an object. */
export async function redactItems(
  schema: Schema<unknown>,
  value: unknown,
  conceal: Conceal | undefined,
  pause: Pause,
): Promise<unknown> {
  if (!isRecord(value)) return redact(schema, value, conceal)
  const out: Record<string, unknown> = {}
  for (const [name, part] of Object.entries(value)) {
    const parts = Array.isArray(part) ? chunksOf(part) : [part]
    const redacted: unknown[] = []
    for (const each of parts) {
      redacted.push((redact(schema, { [name]: each }, conceal) as Record<string, unknown>)[name])
      await pause()
    }
    out[name] = Array.isArray(part) ? redacted.flat() : redacted[0]
  }
  return out
}

function chunksOf(items: readonly unknown[]): readonly (readonly unknown[])[] {
  const count = Math.max(1, Math.ceil(items.length / AT_ONCE))
  return Array.from({ length: count }, (_, i) => items.slice(i * AT_ONCE, (i + 1) * AT_ONCE))
}

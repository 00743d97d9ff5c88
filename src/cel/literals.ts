import type { CelResult, Problem } from '../schema/builder.ts'
import { CelFailure } from './failure.ts'
import { parseDuration, toTimestamp } from './functions/conversions.ts'
import { toAddress, toRange } from './functions/network.ts'
import { isKey } from './operators.ts'
import { callOf, type SyntaxNode } from './syntax-tree.ts'

/** Functions that parse text usually given as a literal: an error in it makes the expression fail for every request. */
const READERS: Readonly<Record<string, Literal['read']>> = {
  cidr: toRange,
  containsCIDR: toRange,
  containsIP: toAddress,
  duration: parseDuration,
  getDate: toTimeZone,
  getDayOfMonth: toTimeZone,
  getDayOfWeek: toTimeZone,
  getDayOfYear: toTimeZone,
  getFullYear: toTimeZone,
  getHours: toTimeZone,
  getMinutes: toTimeZone,
  getMonth: toTimeZone,
  getSeconds: toTimeZone,
  ip: toAddress,
  timestamp: toTimestamp,
}

/** A literal that is the only argument of one of these functions. */
export interface Literal {
  readonly node: SyntaxNode
  /** Whether every evaluation reads it: `a && f("x")` works if `a` is false. */
  readonly always: boolean
  readonly read: (text: string) => unknown
}

/** `always`: whether every evaluation reaches this node. */
export function literalOf(node: SyntaxNode, always: boolean): Literal | undefined {
  const call = callOf(node)
  const read = call && Object.hasOwn(READERS, call.name) ? READERS[call.name] : undefined
  const [text, ...more] = call?.args ?? []
  return read && text && isText(text) && more.length === 0 ? { node: text, read, always } : undefined
}

/** Keys of a map literal that make it fail: duplicates and invalid keys. */
export function repeatedKeys(node: SyntaxNode, always: boolean): Literal[] {
  const seen = new Set<unknown>()
  return (node.args as [SyntaxNode, SyntaxNode][]).flatMap(([key]) => {
    if (key.op !== 'value') return []
    const code = !isKey(key.args) ? 'invalid_key' : seen.has(key.args) ? 'duplicate_key' : undefined
    seen.add(key.args)
    if (code === undefined) return []
    const read = () => {
      throw new CelFailure(code)
    }
    return [{ node: key, always, read }]
  })
}

function toTimeZone(text: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    throw new CelFailure('invalid_timezone')
  }
}

/** What is wrong with a literal, in words; undefined if it is valid. */
export function literalProblem({ node, read }: Pick<Literal, 'node' | 'read'>): Problem | undefined {
  try {
    read(node.args as string)
    return undefined
  } catch (error) {
    if (!(error instanceof CelFailure)) throw error
    return { message: error.message }
  }
}

/** The same for an expression that is nothing but a literal of the right type. */
export function constantProblem(root: SyntaxNode, result: CelResult): Problem | undefined {
  if (result === 'duration' && isText(root)) return literalProblem({ node: root, read: parseDuration })
  if (result !== 'sampling' || root.op !== 'value') return undefined
  const share = Number(root.args)
  if (share <= 1) return undefined
  const help = share <= 100 ? { help: `It is a fraction: \`${share / 100}\` for ${share} %.` } : {}
  return { message: `${share} is not a share: it must be 0 to 1`, ...help }
}

function isText({ op, args }: SyntaxNode): boolean {
  return op === 'value' && typeof args === 'string'
}

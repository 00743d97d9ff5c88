import { Environment } from '@marcbachmann/cel-js'
import { LIMITS } from '../environment.ts'
import { childScopes } from '../rewrite.ts'
import { adaptSource } from '../source/adapt-source.ts'
import { callOf, parseProgram, type SyntaxNode } from '../syntax-tree.ts'
import type { Literal, Reference, Term } from './terms.ts'

/** Cached texts and their terms: files that are checked together repeat them. */
const KEPT_TERMS = 1000

/** Parses expressions that compile; undefined for anything else. Each text is parsed once. */
export function createTermReader(): (text: string) => Term | undefined {
  const environment = new Environment({ enableOptionalTypes: true, limits: LIMITS })
  const known = new Map<string, Term | undefined>()
  return text => {
    if (known.has(text)) return known.get(text)
    const term = read(environment, text)
    if (known.size < KEPT_TERMS) known.set(text, term)
    return term
  }
}

function read(environment: Environment, written: string): Term | undefined {
  const { text, place } = adaptSource(written)
  try {
    return termOf(parseProgram(environment, text).ast, [], place)
  } catch {
    return undefined
  }
}

function termOf(node: SyntaxNode, bound: readonly string[], place: (offset: number) => number): Term {
  const span = [place(node.start), place(node.end)] as const
  if (node.op === 'value') return { kind: 'literal', span, value: literalValue(node.args) }
  const path = pathOf(node, bound)
  if (path) return { kind: 'reference', span, path }
  const args = childScopes(node, bound).map(([child, names]) => termOf(child, names, place))
  const key = node.op === '.' || node.op === '.?' ? (node.args as [SyntaxNode, string])[1] : undefined
  if (key !== undefined) args.push({ kind: 'literal', span, value: key })
  return { kind: 'operation', span, op: WRITTEN[node.op] ?? callOf(node)?.name ?? node.op, args }
}

const WRITTEN: Readonly<Record<string, string>> = { '!_': '!', '-_': '-' }

function literalValue(value: unknown): Literal['value'] {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  return value === null ? null : undefined
}

function pathOf(node: SyntaxNode, bound: readonly string[]): Reference['path'] | undefined {
  if (node.op === 'id') return bound.includes(node.args as string) ? undefined : [node.args as string]
  if (node.op !== '.' && node.op !== '[]') return undefined
  const [container, key] = node.args as [SyntaxNode, string | SyntaxNode]
  const name = typeof key === 'string' ? key : key.op === 'value' ? key.args : undefined
  const outer = typeof name === 'string' ? pathOf(container, bound) : undefined
  return outer && [...outer, name as string]
}

import type { CelResult, Problem } from '../schema/builder.ts'
import type { Rejection } from './expression.ts'
import { constantProblem, literalProblem } from './literals.ts'
import type { ReplacingPatternCompiler } from './pattern.ts'
import { type Context, spanOf, typeName } from './problems.ts'
import { acceptsStatically } from './results.ts'
import type { TreeFacts } from './rewrite.ts'
import type { Program, SyntaxNode } from './syntax-tree.ts'

/** Maximum length of an expression, in UTF-16 units (specification, CELExpression). */
export const MAX_EXPRESSION_LENGTH = 16_384

/** Rejects text that is too large to parse. */
export function sizeProblem(text: string): Rejection | undefined {
  if (text.length > MAX_EXPRESSION_LENGTH) {
    const message = `the expression is ${text.length} characters long; the limit is ${MAX_EXPRESSION_LENGTH}`
    return { kind: 'size', problem: { message } }
  }
  return negatesTooDeeply(text)
    ? { kind: 'size', problem: { message: 'the expression is nested too deeply' } }
    : undefined
}

/**
 * Whether more than 64 minus or not signs follow one another outside of text and comments. The library bounds all other
 * nesting, but recurses for each sign, so the limit would be the stack size.
 */
function negatesTooDeeply(text: string): boolean {
  const tokens = /"{3}.*?"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\/\/[^\n]*|(?:[!-]\s*){65}/gs
  for (const [token] of text.matchAll(tokens)) if (token.startsWith('!') || token.startsWith('-')) return true
  return false
}

export interface Checks {
  readonly context: Context
  readonly result: CelResult
  readonly patterns: ReplacingPatternCompiler
  /** The problem to report for an unknown name. */
  readonly unknown: (name: string, node: SyntaxNode) => Problem | undefined
}

/** Checks names, numbers, patterns and the result type; throws the library's own error for a violation. */
export function checkProgram(
  program: Program,
  facts: TreeFacts,
  { context, result, patterns, unknown }: Checks,
): Rejection | undefined {
  for (const [name, node] of facts.free) {
    const problem = unknown(name, node)
    if (problem) return { kind: 'type', problem }
  }
  for (const node of facts.tooBig) {
    return { kind: 'syntax', problem: { message: 'the number does not fit in 64 bits', ...spanOf(node, context) } }
  }
  throwIfInvalid(program)
  for (const node of facts.patterns) {
    const made = patterns.compile(node.args as string, false)
    if ('problem' in made) {
      const { span: _, ...problem } = made.problem
      return { kind: 'type', problem: { ...problem, ...spanOf(node, context) } }
    }
  }
  const unreadable = unreadableLiteral(facts, true, context)
  if (unreadable) return { kind: 'type', problem: unreadable }
  const type = program.ast.checkedType
  const expected = acceptsStatically(result, type)
  if (!expected) {
    const problem = constantProblem(program.ast, result)
    return problem && { kind: 'type', problem: { ...problem, ...spanOf(program.ast, context) } }
  }
  const message = `the expression must give ${expected}, but it gives ${typeName(type)}`
  return { kind: 'type', problem: { message, label: typeName(type), ...spanOf(program.ast, context) } }
}

/** A literal that makes every evaluation fail, or those that reach it. */
export function unreadableLiteral({ literals }: TreeFacts, always: boolean, context: Context): Problem | undefined {
  for (const literal of literals) {
    const problem = literal.always === always ? literalProblem(literal) : undefined
    if (problem) return { ...problem, ...spanOf(literal.node, context) }
  }
  return undefined
}

export function throwIfInvalid(program: Program): void {
  const { valid, error } = program.check()
  if (!valid) throw error
}

import type { CelScope } from '../schema/builder.ts'
import { createEnvironments, wordsOf } from './environment.ts'
import { createPatternCompiler } from './pattern.ts'
import { typeName } from './problems.ts'
import { childScopes, prepare } from './rewrite.ts'
import { Run } from './run.ts'
import { adaptSource } from './source.ts'
import { callOf, parseProgram, type SyntaxNode } from './syntax-tree.ts'

/** A part of an expression that is one by itself. */
export interface ExpressionPart {
  readonly text: string
  /** Offsets in the whole expression. */
  readonly span: readonly [start: number, end: number]
  /** As messages name it. */
  readonly type: string
}

/**
 * The parts of an expression that a person may want to see the value of, inner ones first and the whole last. Literals
 * and what only leads to something are left out, and so is what names the variable of a loop. The expression has to be
 * one that compiles in this scope.
 */
export function inspectExpression(text: string, scope: CelScope): readonly ExpressionPart[] {
  const { text: source, place } = adaptSource(text)
  const run = new Run()
  const environments = createEnvironments(run, createPatternCompiler())
  const program = parseProgram(environments.check(wordsOf(source), scope), source)
  prepare(program.ast, run)
  program.check()
  const parts: ExpressionPart[] = []
  /** Returns the loop variables around the node that it uses. */
  const visit = (node: SyntaxNode, bound: readonly string[], leadsOn: boolean): ReadonlySet<string> => {
    const used = new Set<string>()
    if (node.op === 'id' && bound.includes(node.args as string)) used.add(node.args as string)
    // What `has` asks for may well be missing.
    const inner = callOf(node)?.name === 'has' ? [] : childScopes(node, bound)
    for (const [child, names] of inner) {
      for (const name of visit(child, names, isAccess(node))) if (bound.includes(name)) used.add(name)
    }
    if (used.size === 0 && isShown(node, leadsOn)) parts.push(partOf(node, text, place))
    return used
  }
  visit(program.ast, [], false)
  const written = text.trim()
  const start = text.indexOf(written)
  const span = [start, start + written.length] as const
  const whole = { text: written, span, type: typeName(program.ast.checkedType) }
  const inner = parts.filter(part => part.text !== whole.text)
  return [...new Map(inner.map(part => [part.text, part])).values(), whole]
}

function isAccess({ op }: SyntaxNode): boolean {
  return ['.', '.?', '[]', '[?]'].includes(op)
}

/** Literals are their own values, and a map that is there is too much where a field of it is what counts. */
function isShown(node: SyntaxNode, leadsOn: boolean): boolean {
  return (!leadsOn || callOf(node) !== undefined) && !['value', 'list', 'map', 'id'].includes(node.op)
}

function partOf(node: SyntaxNode, text: string, place: (offset: number) => number): ExpressionPart {
  const span = balanced(text, place(node.start), place(node.end))
  return { text: text.slice(...span), span, type: typeName(node.checkedType) }
}

/** The library's spans leave out a parenthesis that opens before a part, or closes behind it. */
function balanced(text: string, start: number, end: number): readonly [number, number] {
  const marks = [...text.matchAll(PARENTHESES)].filter(({ 0: mark }) => mark === '(' || mark === ')')
  let open = 0
  let [from, to] = [start, end]
  for (const { 0: mark, index } of marks) {
    if (index < start || index >= end) continue
    open += mark === '(' ? 1 : -1
    if (open >= 0) continue
    from = marks.findLast(each => each[0] === '(' && each.index < from)?.index ?? from
    open = 0
  }
  for (; open > 0; open--) to = (marks.find(each => each[0] === ')' && each.index >= to)?.index ?? to - 1) + 1
  return [from, to]
}

/** Strings and comments are taken as a whole, so that what is in them does not count. */
const PARENTHESES = /"{3}.*?"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\/\/[^\n]*|[()]/gs

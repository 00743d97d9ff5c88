import type { CelScope } from '../schema/builder.ts'
import { createEnvironments, wordsOf } from './environment.ts'
import { createPatternCompiler } from './pattern.ts'
import { typeName } from './problems.ts'
import { childScopes, prepare } from './rewrite.ts'
import { Run } from './run.ts'
import { adaptSource } from './source/adapt-source.ts'
import { callOf, parseProgram, type SyntaxNode } from './syntax-tree.ts'

/** A subexpression. */
export interface ExpressionPart {
  readonly text: string
  /** Offsets in the whole expression. */
  readonly span: readonly [start: number, end: number]
  /** Its type's name in messages. */
  readonly type: string
}

/**
 * The subexpressions whose values are worth showing, inner ones first and the whole last. Literals, prefixes of a
 * longer access, and the names of loop variables are omitted. The expression must compile in this scope.
 */
export function inspectExpression(text: string, scope: CelScope): readonly ExpressionPart[] {
  const { text: source, place } = adaptSource(text)
  const run = new Run()
  const environments = createEnvironments(run, createPatternCompiler())
  const program = parseProgram(environments.check(wordsOf(source), scope), source)
  prepare(program.ast, run)
  program.check()
  const parts: ExpressionPart[] = []
  /** Returns the loop variables of the surrounding nodes that it uses. */
  const visit = (node: SyntaxNode, bound: readonly string[], leadsOn: boolean): ReadonlySet<string> => {
    const used = new Set<string>()
    if (node.op === 'id' && bound.includes(node.args as string)) used.add(node.args as string)
    // The argument of `has` may well be absent.
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

/** Literals are self-explanatory, and a map is too much where one of its fields is used. */
function isShown(node: SyntaxNode, leadsOn: boolean): boolean {
  return (!leadsOn || callOf(node) !== undefined) && !['value', 'list', 'map', 'id'].includes(node.op)
}

function partOf(node: SyntaxNode, text: string, place: (offset: number) => number): ExpressionPart {
  const span = balanced(text, place(node.start), place(node.end))
  return { text: text.slice(...span), span, type: typeName(node.checkedType) }
}

/** The library's spans exclude parentheses around a part. */
export function balanced(text: string, start: number, end: number): readonly [number, number] {
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

/** Matches strings and comments as a whole, so that parentheses in them do not count. */
const PARENTHESES = /"{3}.*?"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\/\/[^\n]*|[()]/gs

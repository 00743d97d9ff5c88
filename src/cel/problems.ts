import { TypeError as CheckError, EvaluationError, ParseError } from '@marcbachmann/cel-js'
import { closest, didYouMean, editDistance } from '../diagnostics/suggest.ts'
import type { CelScope, Problem } from '../schema/builder.ts'
import { writtenName } from './define.ts'
import type { FunctionForms } from './environment.ts'
import type { Rejection } from './expression.ts'
import { ExpansionTooLarge } from './source/pieces.ts'
import { callOf, isNode, type StaticType, type SyntaxNode } from './syntax-tree.ts'
import { describeScopes, fieldNames, VARIABLES, variableAt, variableNamed, visible } from './variables.ts'

export interface Context {
  readonly text: string
  readonly scope: CelScope
  readonly functions: () => ReadonlyMap<string, FunctionForms>
  /** Maps an offset in the parsed text to one in the written text. */
  readonly place: (offset: number) => number
}

const TOKENS: Readonly<Record<string, string>> = {
  EOF: 'the end',
  NUMBER: 'a number',
  STRING: 'a string',
  BYTES: 'bytes',
  BOOLEAN: 'a boolean',
  NULL: '`null`',
  IDENTIFIER: 'a name',
  PLUS: '`+`',
  MINUS: '`-`',
  MULTIPLY: '`*`',
  DIVIDE: '`/`',
  MODULO: '`%`',
  EQ: '`==`',
  NE: '`!=`',
  LT: '`<`',
  LE: '`<=`',
  GT: '`>`',
  GE: '`>=`',
  AND: '`&&`',
  OR: '`||`',
  NOT: '`!`',
  IN: '`in`',
  LPAREN: '`(`',
  RPAREN: '`)`',
  LBRACKET: '`[`',
  RBRACKET: '`]`',
  LBRACE: '`{`',
  RBRACE: '`}`',
  DOT: '`.`',
  COMMA: '`,`',
  COLON: '`:`',
  QUESTION: '`?`',
}

/** Converts the library's parse and check errors to findings. Anything else is a bug and is rethrown. */
export function rejection(error: unknown, context: Context): Rejection {
  if (error instanceof RangeError) return { kind: 'size', problem: { message: 'the expression is nested too deeply' } }
  if (error instanceof ExpansionTooLarge) {
    return { kind: 'size', problem: { message: 'the expression is too large once its custom functions are expanded' } }
  }
  if (error instanceof ParseError) return parseRejection(error, context)
  if (error instanceof CheckError || error instanceof EvaluationError) {
    return { kind: 'type', problem: checkProblem(error, context) }
  }
  // The library reports ambiguous overloads with a plain Error.
  if (error instanceof Error && / overlaps with /.test(error.message)) {
    return { kind: 'type', problem: { message: 'the types of an operator cannot be told apart here' } }
  }
  throw error
}

function parseRejection(error: ParseError, context: Context): Rejection {
  const span = spanOf(error.range, context)
  if (error.code === 'limit_exceeded') {
    const message = 'the expression is too large or nested too deeply'
    return { kind: 'size', problem: { message, ...span } }
  }
  if (error.code === 'invalid_macro_argument') {
    return {
      kind: 'type',
      problem: { message: 'the first argument must be a plain name for the loop variable', ...span },
    }
  }
  const at = context.place(error.range?.start ?? 0)
  const message = sentence(error.summary).replace(/\b[A-Z]{2,}\b/g, word => TOKENS[word] ?? word)
  const help = syntaxHelp(context.text, at)
  return { kind: 'syntax', problem: { message, ...span, ...(help ? { help } : {}) } }
}

function syntaxHelp(text: string, at: number): string | undefined {
  const rest = text.slice(at)
  if (/^=?~/.test(rest) || /=~/.test(text.slice(at - 1, at + 2))) return 'Patterns: `text.matches("…")`.'
  if (rest.startsWith('=')) return 'Equality is `==`.'
  if (/^&(?!&)/.test(rest)) return 'Logical and is `&&`.'
  if (/^\|(?!\|)/.test(rest)) return 'Logical or is `||`.'
  if (/^and\b/i.test(rest)) return 'Logical and is `&&`.'
  if (/^or\b/i.test(rest)) return 'Logical or is `||`.'
  if (rest.startsWith(';')) return 'An expression ends without `;`.'
  if (/^\s*\{\{/.test(text)) return 'Write the expression without `{{` and `}}`.'
  return undefined
}

function checkProblem(error: CheckError | EvaluationError, context: Context): Problem {
  const node = error.node as unknown
  const span = spanOf(error.range, context)
  if (isNode(node)) {
    if (error.code === 'unknown_variable') return unknownVariable(node, context)
    if (error.code === 'no_such_key')
      return unknownField(node, context) ?? { message: sentence(error.summary), ...span }
    if (error.code === 'no_matching_overload') return badCall(node, context)
    if (error.code === 'no_such_overload') return badOperator(node, error.summary, context)
  }
  const message = WORDS[error.code] ?? sentence(readable(error.summary)).replaceAll("'", '`')
  return { message, ...span }
}

const WORDS: Readonly<Record<string, string>> = {
  invalid_comprehension_range: 'only lists and maps can be iterated',
  invalid_logical_operand: '`&&` and `||` take booleans',
  invalid_macro_argument: 'the first argument must be a plain name for the loop variable',
}

/** For contexts whose names are not variables of requests. */
export function unknownName(node: SyntaxNode, names: readonly string[], context: Context): Problem {
  const name = String(node.args)
  return {
    message: `unknown field \`${name}\``,
    ...spanOf(node, context),
    ...meant(name, names, listing('Fields', names)),
  }
}

/** Also used for names found by walking the tree, before the checker runs. */
export function unknownVariable(node: SyntaxNode, context: Context): Problem {
  const name = String(node.args)
  const span = spanOf(node, context)
  const elsewhere = variableNamed(name)
  if (elsewhere) {
    return {
      message: `\`${name}\` is not available here`,
      label: 'not available here',
      help: `\`${name}\` is available in: ${describeScopes(elsewhere.scopes)}.`,
      ...span,
    }
  }
  const here = VARIABLES.filter(each => visible(each, context.scope)).map(each => each.name)
  const forms = context.functions().get(name)
  if (forms && forms.plain.size > 0) {
    return { message: `\`${name}\` is a function, not a variable`, help: `Call it: \`${name}(…)\`.`, ...span }
  }
  const quoted = /^(?:and|or|not)$/i.test(name) ? 'Operators are `&&`, `||` and `!`.' : undefined
  return {
    message: `unknown variable \`${name}\``,
    ...span,
    ...meant(name, here, quoted ?? listing('Variables here', here)),
  }
}

function unknownField(node: SyntaxNode, context: Context): Problem | undefined {
  const [owner, key] = node.args as [SyntaxNode, string | SyntaxNode]
  const path = owner.checkedType?.name ?? ''
  const name = isNode(key) ? String(key.args) : key
  const all = fieldNames(path)
  if (all.length === 0) return undefined
  const end = isNode(key) ? context.place(key.end) : context.place(node.end)
  const start = isNode(key) ? context.place(key.start) : end - name.length
  const span = { span: [start, end] as const }
  const declared = variableAt(`${path}.${name}`)
  if (declared?.scopes) {
    const help = `It is available in: ${describeScopes(declared.scopes)}.`
    return { message: `\`${path}.${name}\` is not available here`, label: 'not available here', help, ...span }
  }
  const here = all.filter(each => visible(variableAt(`${path}.${each}`)!, context.scope))
  return { message: `\`${path}\` has no field \`${name}\``, ...span, ...meant(name, here, listing('Fields', here)) }
}

function badCall(node: SyntaxNode, context: Context): Problem {
  const call = callOf(node)
  if (!call) return { message: 'a call has the wrong types', ...spanOf(node, context) }
  const name = writtenName(call.name)
  const span = nameSpan(node, name, context)
  const forms = context.functions().get(name)
  if (!forms) {
    const all = [...context.functions()].filter(([, form]) => (call.receiver ? form.method : form.plain).size > 0)
    const names = all.map(([each]) => each)
    return {
      message: `unknown ${call.receiver ? 'method' : 'function'} \`${name}\``,
      ...span,
      ...meant(name, names, foreignWord(name)),
    }
  }
  const right = call.receiver ? forms.method : forms.plain
  if (right.size === 0) {
    const help = call.receiver ? `Write \`${name}(…)\`.` : `Write \`value.${name}(…)\`.`
    return {
      message: `\`${name}\` is a ${call.receiver ? 'function, not a method' : 'method, not a function'}`,
      help,
      ...span,
    }
  }
  if (!right.has(call.args.length)) {
    const counts = [...right].sort((a, b) => a - b)
    const expected = counts.length > 3 ? `${counts[0]} to ${counts.at(-1)}` : counts.join(' or ')
    const noun = expected === '1' ? 'argument' : 'arguments'
    return { message: `\`${name}\` takes ${expected} ${noun}, not ${call.args.length}`, ...span }
  }
  const types = call.args.map(argument => typeName(argument.checkedType)).join(', ')
  const on = call.receiver ? ` on ${typeName(call.receiver.checkedType)}` : ''
  return { message: `\`${name}\` cannot be called${on} with (${types})`, ...span }
}

/** Names from other languages. */
const FOREIGN: Readonly<Record<string, string>> = {
  hasPrefix: 'startsWith',
  hasSuffix: 'endsWith',
  includes: 'contains',
  match: 'matches',
  test: 'matches',
  len: 'size',
  length: 'size',
}

function foreignWord(name: string): string | undefined {
  if (/^(?:and|or|not)$/i.test(name)) return 'Operators are `&&`, `||` and `!`.'
  if (name === 'get') return 'Write `map["name"]`; `"name" in map` says whether it is there.'
  if (name === 'env' || name === 'getenv') return 'Variables of the process are in `env`: `env.NAME`.'
  return Object.hasOwn(FOREIGN, name) ? `Here it is called \`${FOREIGN[name]}\`.` : undefined
}

function badOperator(node: SyntaxNode, summary: string, context: Context): Problem {
  const span = spanOf(node, context)
  const { left, right } = node
  if (!left || !right) {
    const [, sign, type] = /^no such overload: ([!-])(.+)$/i.exec(summary) ?? []
    const message =
      type === undefined ? sentence(readable(summary)) : `\`${sign}\` cannot be applied to ${readable(type)}`
    return { message, ...span }
  }
  const types = `${typeName(left.checkedType)} and ${typeName(right.checkedType)}`
  const differ = typeName(left.checkedType) !== typeName(right.checkedType)
  if (differ && (node.op === '==' || node.op === '!='))
    return { message: `${types} are never equal`, label: `compares ${types}`, ...span }
  const numbers = [left, right].every(side => ['int', 'uint', 'double'].includes(side.checkedType?.name ?? ''))
  const texts = node.op === 'in' && [left, right].every(side => side.checkedType?.name === 'string')
  const help = numbers
    ? { help: 'Convert one of them: `double(…)` or `int(…)`.' }
    : texts
      ? {
          help: '`in` looks into lists and maps. Of texts, write `whole.contains(part)`; of networks, `cidr(network).containsIP(address)`.',
        }
      : {}
  return { message: `\`${node.op}\` cannot combine ${types}`, ...help, ...span }
}

/** A type's name in messages. */
export function typeName(type: StaticType | undefined): string {
  if (!type) return 'a value'
  return readable(type.name)
}

function readable(text: string): string {
  return text
    .replaceAll(/\b(?:dyn<(\w[^<>]*)>)/g, '$1')
    .replaceAll('google.protobuf.Timestamp', 'timestamp')
    .replaceAll('google.protobuf.Duration', 'duration')
    .replaceAll(/\bgw_(\w+)/g, '$1')
    .replaceAll('JsonMap', 'map')
    .replaceAll('JsonList', 'list')
    .replaceAll(/\bdyn\b/g, 'any')
}

function nameSpan(node: SyntaxNode, name: string, context: Context): { span?: readonly [number, number] } {
  const call = callOf(node)
  const from = context.place(call?.receiver ? call.receiver.end : node.start)
  const at = context.text.indexOf(name, from)
  return at < 0 ? spanOf(node, context) : { span: [at, at + name.length] }
}

export function spanOf(
  range: { readonly start: number; readonly end: number } | undefined,
  context: Context,
): { span?: readonly [number, number] } {
  if (!range) return {}
  const start = Math.min(context.place(range.start), context.text.length)
  return { span: [start, Math.min(Math.max(context.place(range.end), start), context.text.length)] }
}

function meant(
  name: string,
  candidates: readonly string[],
  otherwise?: string,
): { help?: string; suggestion?: string } {
  // Two edits turn a word of three letters into another word.
  const near = name.length > 3 ? candidates : candidates.filter(each => editDistance(name, each, 1) < 2)
  const [best, ...more] = closest(name, near)
  const help = didYouMean(name, near) ?? otherwise
  return { ...(help ? { help } : {}), ...(best && more.length === 0 ? { suggestion: best } : {}) }
}

function listing(title: string, names: readonly string[]): string {
  return `${title}: ${names.join(', ')}.`
}

function sentence(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

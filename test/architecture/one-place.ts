import { isNode, type SourceFile, type SyntaxNode } from './source-files.ts'
import type { Violation } from './violation.ts'

/** The dispatcher, and the transport behind it. */
const DISPATCHING = ['src/calls/dispatch.ts', 'src/engine/upstream/']
/** A client's request, and a call that the gateway makes. */
const MAKING_EXCHANGES = ['src/engine/inbound/arrived-exchange.ts', 'src/calls/derived-exchange.ts']
/** Recordings of the public system tell of failures by their texts only. */
const READING_TEXTS = ['src/tools/trace/saved-case.ts']
/** V8, oclif and the expression library say some things in words only. */
const MATCHING_TEXTS = ['src/cel/failure.ts', 'src/cel/problems.ts', 'src/cli/usage.ts', 'src/mcp/message.ts']
/** Layers with parts that only requests need. */
const SERVING = ['src/policies/', 'src/backends/']

/** What exists once: the way out, the ways in, and the knowledge of what a failure or an object is. */
export function checkOnePlace(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(file =>
    file.nodes.flatMap(node => {
      const message = problemOf(node, file.path)
      return message === undefined ? [] : [{ path: file.path, line: node.loc.start.line, message }]
    }),
  )
}

function problemOf(node: SyntaxNode, path: string): string | undefined {
  const within = (places: readonly string[]) => places.some(place => path.startsWith(place))
  if (node.type === 'NewExpression' && nameOf(node.callee) === 'Exchange' && !within(MAKING_EXCHANGES)) {
    return `an Exchange of its own: those of clients and of calls are made in ${MAKING_EXCHANGES.join(', ')}`
  }
  if (isTransportDispatch(node) && !within(DISPATCHING)) {
    return `a call past the dispatcher: calls go out in ${DISPATCHING.join(', ')}`
  }
  if (comparesText(node, ['message', 'error']) && !within(READING_TEXTS)) {
    return 'compares the text of a message: failures have codes'
  }
  if (matchesMessage(node) && !within(MATCHING_TEXTS)) return 'matches the text of a message: failures have codes'
  if (loadsOnItsOwn(node) && within(SERVING))
    return 'loads a part by itself: `ctx.serving` does, before the first request'
  return comparesText(node, ['identity']) ? 'reads a kind off an identity: it has a field of its own' : undefined
}

function isTransportDispatch({ type, callee }: SyntaxNode): boolean {
  return type === 'CallExpression' && nameOf(callee) === 'dispatch' && nameOf(objectOf(callee)) === 'transport'
}

const LOOKS_INTO: readonly unknown[] = ['startsWith', 'endsWith', 'includes']

/** Something of one of these names, held against a text. */
function comparesText(node: SyntaxNode, names: readonly string[]): boolean {
  const named = (value: unknown) => names.includes(String(nameOf(value)))
  if (node.type === 'CallExpression') return LOOKS_INTO.includes(nameOf(node.callee)) && named(objectOf(node.callee))
  if (node.type !== 'BinaryExpression' || !/^[!=]==?$/.test(String(node.operator))) return false
  const { left, right } = node
  return (named(left) && isText(right)) || (named(right) && isText(left))
}

/** `/…/.test(error.message)` */
function matchesMessage(node: SyntaxNode): boolean {
  if (node.type !== 'CallExpression' || !MATCHES.includes(nameOf(node.callee))) return false
  const [of] = node.arguments as readonly unknown[]
  const [pattern, text] = isRegExp(of) ? [of, objectOf(node.callee)] : [objectOf(node.callee), of]
  return isRegExp(pattern) && nameOf(text) === 'message'
}

const MATCHES: readonly unknown[] = ['test', 'exec', 'match', 'search']

function isRegExp(value: unknown): boolean {
  return isNode(value) && value.type === 'RegExpLiteral'
}

/** A module of ours that is awaited where a request is under way, or kept by whoever asks first. */
function loadsOnItsOwn(node: SyntaxNode): boolean {
  if (node.type === 'AwaitExpression') return isOwnImport(node.argument)
  if (node.type !== 'CallExpression' || nameOf(node.callee) === 'serving') return false
  return (node.arguments as readonly unknown[]).some(
    each => isNode(each) && each.type === 'ArrowFunctionExpression' && isOwnImport(each.body),
  )
}

function isOwnImport(value: unknown): boolean {
  return isNode(value) && value.type === 'ImportExpression' && isText(value.source)
    ? String((value.source as { value?: unknown }).value).startsWith('.')
    : false
}

/** Whether there is a text at all may be asked. */
function isText(value: unknown): boolean {
  return isNode(value) && ((value.type === 'StringLiteral' && value.value !== '') || value.type === 'TemplateLiteral')
}

function objectOf(value: unknown): unknown {
  return isNode(value) && /^(Optional)?MemberExpression$/.test(value.type) ? value.object : undefined
}

/** `a` of `a`, of `x.a` and of `x?.a`. */
function nameOf(value: unknown): unknown {
  if (!isNode(value)) return undefined
  return value.type === 'Identifier' ? value.name : objectOf(value) === undefined ? undefined : nameOf(value.property)
}

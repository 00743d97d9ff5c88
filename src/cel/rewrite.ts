import { ownName, REPLACED } from './define.ts'
import { codeOf } from './failure.ts'
import { emptyLiteral, presence } from './functions/macros.ts'
import { type Literal, literalOf, repeatedKeys } from './literals.ts'
import { evaluationOf, GIVING, iteration } from './operators.ts'
import type { Run } from './run.ts'
import {
  type Comprehension,
  callOf,
  children,
  type LocalScope,
  rename,
  type StaticType,
  type SyntaxNode,
} from './syntax-tree.ts'

const MAX_INT = 2n ** 63n - 1n

/** Macros that bind their first argument as a variable in the others. */
const BINDING = new Set([
  'all',
  'exists',
  'exists_one',
  'filter',
  'filterKeys',
  'map',
  'mapValues',
  'optFlatMap',
  'optMap',
  'removeKeys',
  'with',
])
/** Calls that evaluate their receiver, and their arguments only as needed. */
const LAZY_CALLS = new Set([...BINDING, 'bind', 'coalesce', 'default', 'has', 'or', 'orValue'])
const FLATTENING = new Set(['flatten', 'flattenRecursive', 'flatten_recursive'])

export interface TreeFacts {
  /** Free names, with the nodes where they occur. */
  readonly free: ReadonlyMap<string, SyntaxNode>
  readonly callsVariables: boolean
  readonly bodies: ReadonlySet<string>
  /** The nodes of literal patterns. */
  readonly patterns: readonly SyntaxNode[]
  /** Literals parsed by functions. */
  readonly literals: readonly Literal[]
  /** Integer literals beyond int64. */
  readonly tooBig: readonly SyntaxNode[]
  readonly flattens: boolean
}

/** Adapts a parsed tree before it is checked, and collects what it refers to. */
export function prepare(root: SyntaxNode, run: Run): TreeFacts {
  const free = new Map<string, SyntaxNode>()
  const bodies = new Set<string>()
  const patterns: SyntaxNode[] = []
  const literals: Literal[] = []
  const tooBig: SyntaxNode[] = []
  let callsVariables = false
  const flattens = FLATTENING.has(callOf(root)?.name ?? '')

  const visit = (node: SyntaxNode, bound: readonly string[], always: boolean, parent?: SyntaxNode): void => {
    const call = callOf(node)
    if (node.op === 'id') {
      const name = node.args as string
      if (bound.includes(name)) return
      if (!free.has(name)) free.set(name, node)
      if (namesBody(parent)) bodies.add(name)
      return
    }
    if (node.op === 'value' && typeof node.args === 'bigint' && node.args > MAX_INT) {
      if (!(parent?.op === '-_' && node.args === MAX_INT + 1n)) tooBig.push(node)
    }
    if (call?.name === 'variables' && !call.receiver) callsVariables = true
    const pattern = patternOf(node)
    if (pattern) patterns.push(pattern)
    const literal = literalOf(node, always)
    if (literal) literals.push(literal)
    if (node.op === 'map') literals.push(...repeatedKeys(node, always))
    for (const [child, names] of childScopes(node, bound)) visit(child, names, always && evaluates(node, child), node)
    adapt(node, run)
  }
  visit(root, [], true)
  return { free, bodies, callsVariables, patterns, literals, tooBig, flattens }
}

/** Whether evaluating the node always evaluates this child, and fails if it fails. */
function evaluates(node: SyntaxNode, child: SyntaxNode): boolean {
  if (node.op === '&&' || node.op === '||') return false
  if (node.op === '?:') return child === (node.args as SyntaxNode[])[0]
  const call = callOf(node)
  return call === undefined || child === call.receiver || !LAZY_CALLS.has(call.name)
}

/** Each child with its bound variables. The name that a macro binds is not a use of it. */
export function childScopes(node: SyntaxNode, bound: readonly string[]): (readonly [SyntaxNode, readonly string[]])[] {
  const call = callOf(node)
  const [first, ...rest] = call?.args ?? []
  if (!call?.receiver || !first || first.op !== 'id') return children(node).map(child => [child, bound])
  const inner = [...bound, first.args as string]
  if (BINDING.has(call.name) && rest.length > 0) {
    return [[call.receiver, bound], ...rest.map(child => [child, inner] as const)]
  }
  const [value, body] = rest
  if (call.name === 'bind' && call.receiver.op === 'id' && call.receiver.args === 'cel' && value && body) {
    return [
      [call.receiver, bound],
      [value, bound],
      [body, inner],
    ]
  }
  return children(node).map(child => [child, bound])
}

/** Whether a variable used below `parent` exposes its body: `request.body`, or the variable as a whole. */
function namesBody(parent: SyntaxNode | undefined): boolean {
  if (parent?.op === '.' || parent?.op === '.?') {
    return ['body', 'bodyPrefix'].includes((parent.args as [SyntaxNode, string])[1])
  }
  if (parent?.op === '[]' || parent?.op === '[?]') {
    const key = (parent.args as [SyntaxNode, SyntaxNode])[1]
    return key.op !== 'value' || key.args === 'body' || key.args === 'bodyPrefix'
  }
  return parent === undefined || callOf(parent)?.name !== 'has'
}

function patternOf(node: SyntaxNode): SyntaxNode | undefined {
  const call = callOf(node)
  if (call?.name !== 'matches' && call?.name !== 'regexReplace') return undefined
  const pattern = call.args[call.receiver ? 0 : 1]
  return pattern?.op === 'value' && typeof pattern.args === 'string' ? pattern : undefined
}

function adapt(node: SyntaxNode, run: Run): void {
  const call = callOf(node)
  if (call?.name === 'has' && !call.receiver && call.args.length === 1) {
    node.setMeta('macro', presence(call.args[0] as SyntaxNode, run)).setMeta('async', false)
  } else if (call?.receiver && call.name.startsWith('get')) {
    signOffset(call.args[0])
    if (REPLACED.has(call.name)) rename(node, ownName(call.name))
  } else if (call && REPLACED.has(call.name)) {
    rename(node, ownName(call.name))
  } else if (node.op === 'list' && (node.args as unknown[]).length === 0) {
    node
      .setMeta(
        'macro',
        emptyLiteral(() => []),
      )
      .setMeta('async', false)
  } else if (node.op === 'map' && (node.args as unknown[]).length === 0) {
    node
      .setMeta(
        'macro',
        emptyLiteral(() => new Map()),
      )
      .setMeta('async', false)
  } else if (node.op === '?:') {
    allowMixedBranches(node)
  } else if (node.op === '+' && (node.args as SyntaxNode[])[1]?.op !== 'value') {
    checkSum(node)
  } else if (node.op === '==' || node.op === '!=') {
    checkComparison(node)
  }
}

/** CEL allows time zone offsets without a sign, which Intl does not accept. */
function signOffset(zone: SyntaxNode | undefined): void {
  if (zone?.op !== 'value' || typeof zone.args !== 'string') return
  if (/^[0-9]{2}:[0-9]{2}$/.test(zone.args)) zone.args = `+${zone.args}`
}

/** The library types the sum of a duration and a timestamp as a duration. */
function checkSum(node: SyntaxNode): void {
  const { check } = node.meta
  node.setMeta('check', (checker, self, scope) => {
    const type = check(checker, self, scope)
    const [left, right] = [self.left?.checkedType, self.right?.checkedType]
    return right && left?.name === DURATION && right.name === TIMESTAMP ? right : type
  })
}

const DURATION = 'google.protobuf.Duration'
const TIMESTAMP = 'google.protobuf.Timestamp'

/** An optional never equals a plain value: `jwt.?plan == "free"` would always be false. */
function checkComparison(node: SyntaxNode): void {
  const { check } = node.meta
  node.setMeta('check', (checker, self, scope) => {
    const type = check(checker, self, scope)
    const [left, right] = [self.left?.checkedType, self.right?.checkedType]
    if (left && right && isOptionalBeside(left, right) !== isOptionalBeside(right, left)) {
      throw checker.createError('no_such_overload', 'an optional is never equal to a plain value', self)
    }
    return type
  })
}

function isOptionalBeside(type: StaticType, other: StaticType): boolean {
  return type.kind === 'optional' && other.kind !== 'dyn'
}

/** `x ? 'a' : null` is an error only in the library's checker; its value is simply of either type. */
function allowMixedBranches(node: SyntaxNode): void {
  const { check } = node.meta
  node.setMeta('check', (checker, self, scope) => {
    try {
      return check(checker, self, scope)
    } catch (error) {
      if (codeOf(error) === 'incompatible_ternary_branches') return checker.dynType
      throw error
    }
  })
}

/**
 * Replaces the library's evaluation of operators, field access and iteration with ours, in a checked tree. Returns the
 * variables that the tree keeps between evaluations, which must be cleared. The tree then returns a CelFailure for an
 * absent value that nothing inside it handles, and throws any other.
 */
export function harden(root: SyntaxNode, run: Run): readonly LocalScope[] {
  const locals: LocalScope[] = []
  const visit = (node: SyntaxNode, gives: boolean): void => {
    const { alternate, macro } = node.meta
    if (alternate?.op === 'comprehension') {
      const comprehension = alternate.args as Comprehension
      if (comprehension.iterCtx) locals.push(comprehension.iterCtx)
      alternate.setMeta('evaluate', iteration(comprehension, run))
    }
    const local = macro?.local ?? macro?.bindCtx
    if (local) locals.push(local)
    const evaluate = macro || alternate ? undefined : evaluationOf(node, run, gives)
    if (evaluate) node.setMeta('evaluate', evaluate)
    for (const child of children(node)) visit(child, gives && evaluate !== undefined && GIVING.has(node.op))
  }
  visit(root, true)
  return locals
}

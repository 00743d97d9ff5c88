import { ownName, REPLACED } from './define.ts'
import { CelFailure, codeOf } from './failure.ts'
import { type Literal, literalOf } from './literals.ts'
import { emptyLiteral, presence } from './macros.ts'
import type { Run } from './run.ts'
import {
  type Comprehension,
  callOf,
  children,
  type LocalScope,
  rename,
  type Scope,
  type SyntaxNode,
} from './syntax-tree.ts'
import { type CelMap, contains, equal, isList, isMap, itemsOf, sizeOf } from './values.ts'

const MAX_INT = 2n ** 63n - 1n

/** Macros that bind their first argument as a variable of the others. */
const BINDING = new Set([
  'all',
  'exists',
  'exists_one',
  'filter',
  'filterKeys',
  'map',
  'mapValues',
  'removeKeys',
  'with',
])
/** Calls that evaluate what stands before them, and of their arguments what they need. */
const LAZY_CALLS = new Set([...BINDING, 'bind', 'coalesce', 'default', 'has', 'optFlatMap', 'optMap', 'or', 'orValue'])
const FLATTENING = new Set(['flatten', 'flattenRecursive', 'flatten_recursive'])

export interface TreeFacts {
  /** Names that are not bound inside the expression, with the places where they stand. */
  readonly free: ReadonlyMap<string, SyntaxNode>
  readonly callsVariables: boolean
  readonly bodies: ReadonlySet<string>
  /** The text of each literal pattern. */
  readonly patterns: readonly SyntaxNode[]
  /** Texts that functions read and that are written out. */
  readonly literals: readonly Literal[]
  /** Integer literals that no int64 can hold. */
  readonly tooBig: readonly SyntaxNode[]
  readonly flattens: boolean
}

/** Adapts a parsed tree before it is checked, and says what it names. */
export function prepare(root: SyntaxNode): TreeFacts {
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
    for (const [child, names] of childScopes(node, bound)) visit(child, names, always && evaluates(node, child), node)
    adapt(node)
  }
  visit(root, [], true)
  return { free, bodies, callsVariables, patterns, literals, tooBig, flattens }
}

/** Whether an evaluation of the node always comes to this child, and fails where that one does. */
function evaluates(node: SyntaxNode, child: SyntaxNode): boolean {
  if (node.op === '&&' || node.op === '||') return false
  if (node.op === '?:') return child === (node.args as SyntaxNode[])[0]
  const call = callOf(node)
  return call === undefined || child === call.receiver || !LAZY_CALLS.has(call.name)
}

/** Each child with the variables bound around it. The name that a macro binds is not a use of it. */
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

/** Whether a variable used below `parent` gives its body away: `request.body`, or the variable as a whole. */
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

function adapt(node: SyntaxNode): void {
  const call = callOf(node)
  if (call?.name === 'has' && !call.receiver && call.args.length === 1) {
    node.setMeta('macro', presence(call.args[0] as SyntaxNode)).setMeta('async', false)
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
  }
}

/** `x ? 'a' : null` is an error for the library's checker only; its value is simply of either type. */
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
 * Puts our evaluation of literals, equality, membership and iteration in place of the library's, in a tree that has
 * been checked. Returns the variables that the tree keeps between evaluations and that must be emptied.
 */
export function harden(root: SyntaxNode, run: Run): readonly LocalScope[] {
  const locals: LocalScope[] = []
  const visit = (node: SyntaxNode): void => {
    const { alternate, macro } = node.meta
    if (alternate?.op === 'comprehension') {
      const comprehension = alternate.args as Comprehension
      if (comprehension.iterCtx) locals.push(comprehension.iterCtx)
      iterateWithin(alternate, run)
    }
    const local = macro?.local ?? macro?.bindCtx
    if (local) locals.push(local)
    if (!macro && !alternate) replaceEvaluation(node, run)
    for (const child of children(node)) visit(child)
  }
  visit(root)
  return locals
}

function replaceEvaluation(node: SyntaxNode, run: Run): void {
  const { left, right } = node
  switch (node.op) {
    case '==':
      node.setMeta('evaluate', (ev, _, scope) => equal(ev.run(left!, scope), ev.run(right!, scope), run))
      break
    case '!=':
      node.setMeta('evaluate', (ev, _, scope) => !equal(ev.run(left!, scope), ev.run(right!, scope), run))
      break
    case 'in':
      node.setMeta('evaluate', (ev, _, scope) => {
        const item = ev.run(left!, scope)
        return contains(ev.run(right!, scope), item, run)
      })
      break
    case '-_':
      negateWithin(node)
      break
    case 'map':
      buildMap(node)
      break
  }
}

/** The library negates the smallest integer without noticing that the result is out of range. */
function negateWithin(node: SyntaxNode): void {
  const { evaluate } = node.meta
  node.setMeta('evaluate', (ev, self, scope) => {
    const value = evaluate(ev, self, scope)
    if (typeof value === 'bigint' && value > MAX_INT) throw new CelFailure('numeric_overflow')
    return value
  })
}

/** The library drops the keys `constructor`, `prototype` and `__proto__` and turns every key into a string. */
function buildMap(node: SyntaxNode): void {
  const entries = node.args as [SyntaxNode, SyntaxNode][]
  if (entries.length === 0) return
  node.setMeta('evaluate', (ev, _, scope) => {
    const out = new Map<unknown, unknown>()
    for (const [key, value] of entries) out.set(ev.run(key, scope), ev.run(value, scope))
    return out
  })
}

/** Counts the elements before the first step, and hands the library a list it can walk without a copy of its own. */
function iterateWithin(node: SyntaxNode, run: Run): void {
  const comprehension = node.args as Comprehension
  node.setMeta('evaluate', (ev, self, scope: Scope) => {
    const items = ev.run(comprehension.iterable, scope)
    if (!isList(items) && !isMap(items)) throw new CelFailure('invalid_comprehension_range')
    run.charge(sizeOf(items))
    const list = isList(items) ? itemsOf(items) : [...(items as CelMap).keys()]
    return (self.handle as (...args: unknown[]) => unknown)(list, comprehension, ev, scope)
  })
}

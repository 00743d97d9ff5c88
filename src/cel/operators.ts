import { UnsignedInt } from '@marcbachmann/cel-js/evaluator'
import { fieldAccess, optionalFieldIn } from './access.ts'
import { CelFailure, codeOf, graver, isAbsence } from './failure.ts'
import { checkedInt } from './functions/conversions.ts'
import type { Run } from './run.ts'
import type { Comprehension, Evaluator, Scope, SyntaxNode } from './syntax-tree.ts'
import { addTimes, compareTimes, subtractTimes } from './time.ts'
import { type CelMap, contains, equal, isList, isMap, isNumber, itemsOf, sizeOf } from './values.ts'

type Evaluate = (ev: Evaluator, self: SyntaxNode, scope: Scope) => unknown

/** Operators that may return a failure, and accept one from their operands, instead of throwing it. */
export const GIVING: ReadonlySet<string> = new Set(['.', '[]', '==', '!=', '&&', '||'])

/**
 * Our implementation of each operator, replacing the library's. `gives`: the caller accepts a CelFailure as a result;
 * the same then applies to operands in `GIVING`.
 */
export function evaluationOf(node: SyntaxNode, run: Run, gives: boolean): Evaluate | undefined {
  switch (node.op) {
    case '.': {
      const access = fieldAccess(node, gives, run)
      return (ev, self, scope) => {
        const container = ev.run(self.left!, scope)
        return container instanceof CelFailure ? container : access(container, self.right)
      }
    }
    case '.?':
      return (ev, self, scope) => optionalFieldIn(ev.run(self.left!, scope), self.right, self, run)
    case '[]': {
      const access = fieldAccess(node, gives, run)
      return (ev, self, scope) => {
        const container = ev.run(self.left!, scope)
        if (container instanceof CelFailure) return container
        const key = ev.run(self.right!, scope)
        return key instanceof CelFailure ? key : access(container, key)
      }
    }
    case '[?]':
      return (ev, self, scope) => optionalFieldIn(ev.run(self.left!, scope), ev.run(self.right!, scope), self, run)
    case '==':
      return compared(true, run)
    case '!=':
      return compared(false, run)
    case 'in':
      return (ev, self, scope) => {
        const item = ev.run(self.left!, scope)
        return contains(ev.run(self.right!, scope), item, run)
      }
    case '+':
      return (ev, self, scope) => add(ev.run(self.left!, scope), ev.run(self.right!, scope), self, ev)
    case '-':
      return (ev, self, scope) => subtract(ev.run(self.left!, scope), ev.run(self.right!, scope), self, ev)
    case '/':
      return (ev, self, scope) => divide(ev.run(self.left!, scope), ev.run(self.right!, scope), self, ev)
    case '<':
      return ordered(order => order < 0)
    case '<=':
      return ordered(order => order <= 0)
    case '>':
      return ordered(order => order > 0)
    case '>=':
      return ordered(order => order >= 0)
    case '&&':
      return logical(false, gives)
    case '||':
      return logical(true, gives)
    case '-_':
      return negated(node)
    case 'map':
      return mapBuilder(node, run)
    default:
      return undefined
  }
}

function add(a: unknown, b: unknown, node: SyntaxNode, ev: Evaluator): unknown {
  if (typeof a === 'bigint' && typeof b === 'bigint') return checkedInt(a + b, node)
  if (typeof a === 'string' && typeof b === 'string') return a + b
  return addTimes(a, b) ?? byLibrary(a, b, node, ev)
}

function subtract(a: unknown, b: unknown, node: SyntaxNode, ev: Evaluator): unknown {
  if (typeof a === 'bigint' && typeof b === 'bigint') return checkedInt(a - b, node)
  return subtractTimes(a, b) ?? byLibrary(a, b, node, ev)
}

/** The library overflows when dividing the smallest integer by -1. */
function divide(a: unknown, b: unknown, node: SyntaxNode, ev: Evaluator): unknown {
  const result = byLibrary(a, b, node, ev)
  return typeof result === 'bigint' ? checkedInt(result, node) : result
}

function byLibrary(a: unknown, b: unknown, node: SyntaxNode, ev: Evaluator): unknown {
  return node.handle!(a, b, node, ev)
}

function compared(wanted: boolean, run: Run): Evaluate {
  return (ev, self, scope) => {
    const a = ev.run(self.left!, scope)
    if (a instanceof CelFailure) return a
    const b = ev.run(self.right!, scope)
    return b instanceof CelFailure ? b : equal(a, b, run) === wanted
  }
}

function ordered(accepts: (order: number) => boolean): Evaluate {
  return (ev, self, scope) => {
    const a = ev.run(self.left!, scope)
    const b = ev.run(self.right!, scope)
    const order = orderOf(a, b)
    return order === undefined ? byLibrary(a, b, self, ev) : accepts(order)
  }
}

/** Below, at or above zero, NaN if unordered; undefined if the library has to report the error. */
function orderOf(a: unknown, b: unknown): number | undefined {
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0
  if (isNumber(a) && isNumber(b)) return orderOfNumbers(a, b)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b)
  return compareTimes(a, b)
}

/** Integers are compared with doubles as doubles. */
function orderOfNumbers(a: number | bigint | UnsignedInt, b: number | bigint | UnsignedInt): number {
  let x = a instanceof UnsignedInt ? a.value : a
  let y = b instanceof UnsignedInt ? b.value : b
  if (typeof x !== typeof y) {
    x = Number(x)
    y = Number(y)
  }
  return x < y ? -1 : x > y ? 1 : x === y ? 0 : Number.NaN
}

/** `decisive` determines the result regardless of the other operand. If both fail, the graver failure is reported. */
function logical(decisive: boolean, gives: boolean): Evaluate {
  return (ev, self, scope) => {
    let failure: unknown
    try {
      const left = ev.run(self.left!, scope)
      if (left === decisive) return decisive
      if (left instanceof CelFailure) failure = left
      else if (left !== !decisive) failure = new CelFailure('invalid_logical_operand', self.left)
    } catch (error) {
      failure = error
    }
    let right: unknown
    try {
      right = ev.run(self.right!, scope)
    } catch (error) {
      throw failure === undefined ? error : graver(failure, error)
    }
    if (right === decisive) return decisive
    if (right instanceof CelFailure) failure = failure === undefined ? right : graver(failure, right)
    else if (right !== !decisive)
      throw graver(failure ?? new CelFailure('invalid_logical_operand', self.right), NOT_BOOLEAN)
    if (failure === undefined) return right
    if (gives && failure instanceof CelFailure) return failure
    throw failure
  }
}

const NOT_BOOLEAN = new CelFailure('invalid_logical_operand')

/** The library overflows when negating the smallest integer. */
function negated(node: SyntaxNode): Evaluate {
  const { evaluate } = node.meta
  return (ev, self, scope) => {
    const value = evaluate(ev, self, scope)
    return typeof value === 'bigint' ? checkedInt(value, self) : value
  }
}

/** The library drops the keys `constructor`, `prototype` and `__proto__` and converts every key to a string. */
function mapBuilder(node: SyntaxNode, run: Run): Evaluate | undefined {
  const entries = node.args as [SyntaxNode, SyntaxNode][]
  if (entries.length === 0) return undefined
  return (ev, _, scope) => {
    const out = new Map<unknown, unknown>()
    for (const [key, value] of entries) {
      const name = ev.run(key, scope)
      if (!isKey(name)) throw new CelFailure('invalid_key', key)
      if (contains(out, name, run)) throw new CelFailure('duplicate_key', key)
      out.set(name, ev.run(value, scope))
    }
    return out
  }
}

export function isKey(value: unknown): boolean {
  return (
    typeof value === 'string' || typeof value === 'bigint' || typeof value === 'boolean' || value instanceof UnsignedInt
  )
}

/** Charges for the elements before the first step, and gives the library a list that it can iterate without copying. */
export function iteration(comprehension: Comprehension, run: Run): Evaluate {
  const walk = comprehension.kind === 'quantifier' && !comprehension.errorsAreFatal ? quantify : undefined
  return (ev, self, scope) => {
    const items = ev.run(comprehension.iterable, scope)
    if (!isList(items) && !isMap(items)) throw new CelFailure('invalid_comprehension_range', comprehension.iterable)
    run.charge(sizeOf(items))
    const list = isList(items) ? itemsOf(items) : [...(items as CelMap).keys()]
    if (walk) return walk(list, comprehension, ev, scope)
    try {
      return self.handle!(list, comprehension, ev, scope)
    } catch (error) {
      // One element without a field must not hide the others from a rule.
      if (run.guards && isAbsence(error)) throw new CelFailure('partial_list', comprehension.iterable)
      throw error
    }
  }
}

/** `all` and `exists`: failing elements count only if no other element decides, and the gravest failure is reported. */
function quantify(items: readonly unknown[], comprehension: Comprehension, ev: Evaluator, outer: Scope): unknown {
  const { step, condition, result } = comprehension
  const scope = comprehension.iterCtx!.reuse(outer)
  let reached = ev.run(comprehension.init, scope)
  let failure: unknown
  scope.accuValue = reached
  for (const item of items) {
    if (!condition!(reached)) return result(reached)
    try {
      reached = ev.run(step, scope.setIterValue(item, ev))
    } catch (error) {
      if (codeOf(error) === 'budget') throw error
      failure = failure === undefined ? error : graver(failure, error)
    }
  }
  if (failure !== undefined && condition!(reached)) throw failure
  return result(reached)
}

import { Optional } from '@marcbachmann/cel-js'
import { UnsignedInt } from '@marcbachmann/cel-js/evaluator'
import { CelFailure, isAbsence } from './failure.ts'
import { HeaderView } from './header-view.ts'
import { JsonList, JsonMap } from './json-view.ts'
import type { Run } from './run.ts'
import type { SyntaxNode } from './syntax-tree.ts'
import { fieldOf, isNumber } from './values.ts'
import { UNREAD, View } from './view.ts'

/**
 * `container.key` and `container[key]`; optionals stay optional. `gives`: if the value is absent, the failure is
 * returned instead of thrown, and is always the same object: a missing header is routine, and a throw costs more than
 * the rest of the evaluation.
 */
export function fieldAccess(node: SyntaxNode, gives: boolean, run: Run): Access {
  let absent: { readonly key: CelFailure; readonly element: CelFailure } | undefined
  return (container, key) => {
    if (container instanceof Optional) return optionalFieldIn(container, key, node, run)
    const found = lookUp(container, key, node, run)
    if (found !== undefined) return found
    absent ??= { key: new CelFailure('no_such_key', node), element: new CelFailure('index_out_of_bounds', node) }
    const failure = isListLike(container) ? absent.element : absent.key
    if (gives) return failure
    throw failure
  }
}

type Access = (container: unknown, key: unknown) => unknown

/** `container.?key` and `container[?key]`. */
export function optionalFieldIn(container: unknown, key: unknown, node: SyntaxNode, run: Run): Optional {
  const inner = container instanceof Optional ? container.orValue(undefined) : container
  if (inner === undefined) return Optional.none()
  return Optional.of(lookUp(inner, key, node, run))
}

/** Implements `has` for a field. */
export function hasField(container: unknown, key: unknown, node: SyntaxNode, run: Run): boolean {
  return optionalFieldIn(container, key, node, run).hasValue()
}

/** Whether a failure counts as absence; guards tolerate less than other expressions. */
export function isSkippedError(error: unknown, run: Run): boolean {
  if (isAbsence(error)) return true
  return !run.guards && error instanceof CelFailure && PASSED_OVER.has(error.code)
}

const PASSED_OVER: ReadonlySet<string> = new Set(['not_a_map', 'wrong_key', 'body_unread'])

function lookUp(container: unknown, key: unknown, node: SyntaxNode, run: Run): unknown {
  if (container instanceof View) {
    const value = typeof key === 'string' ? container.field(key) : undefined
    if (value === UNREAD) throw new CelFailure('body_unread', node)
    return value
  }
  if (container instanceof JsonMap || container instanceof HeaderView) {
    if (typeof key !== 'string') throw new CelFailure('wrong_key', node)
    return container.get(key)
  }
  if (isListLike(container)) return elementOf(container, key, node)
  if (container instanceof Map) {
    if (isNumber(key)) run.charge(container.size >> 3)
    else if (typeof key === 'object') throw new CelFailure('wrong_key', node)
    return fieldOf(container, key)
  }
  if (isConstant(container))
    return typeof key === 'string' && Object.hasOwn(container, key) ? container[key] : undefined
  throw new CelFailure('not_a_map', node)
}

/** The library's own `google`; client data is never a plain object. */
function isConstant(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}

function isListLike(value: unknown): value is readonly unknown[] | ReadonlySet<unknown> | JsonList {
  return Array.isArray(value) || value instanceof JsonList || value instanceof Set
}

function elementOf(
  list: readonly unknown[] | ReadonlySet<unknown> | JsonList,
  key: unknown,
  node: SyntaxNode,
): unknown {
  if (!isNumber(key)) throw new CelFailure('not_a_map', node)
  const at = Number(key instanceof UnsignedInt ? key.value : key)
  if (!Number.isInteger(at)) throw new CelFailure('invalid_argument', node)
  if (list instanceof JsonList) return list.get(at)
  return Array.isArray(list) ? list[at] : [...(list as ReadonlySet<unknown>)][at]
}

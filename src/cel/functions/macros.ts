import { Optional } from '@marcbachmann/cel-js'
import { hasField, isSkippedError } from '../access.ts'
import type { Toolbox } from '../define.ts'
import { upTo } from '../define.ts'
import { CelFailure, codeOf, isAbsence } from '../failure.ts'
import type { Run } from '../run.ts'
import {
  type Checker,
  callOf,
  type Evaluator,
  type Macro,
  type MacroCall,
  type Scope,
  type StaticType,
  type SyntaxNode,
} from '../syntax-tree.ts'
import { type CelMap, isList, isMap, isNumber, sizeOf } from '../values.ts'

/** Calls whose arguments are evaluated lazily, or with a bound variable. */
export function defineMacros({ define, macro, run }: Toolbox): void {
  macro('default(ast, ast): dyn', ({ args }) => fallback(args[0] as SyntaxNode, args[1] as SyntaxNode, run))
  for (const parameters of upTo(8, 'ast')) macro(`coalesce(${parameters}): dyn`, ({ args }) => firstValue(args, run))
  macro('dyn.optMap(ast, ast): dyn', call => binding(call, run, mapOptional))
  macro('dyn.optFlatMap(ast, ast): dyn', call => binding(call, run, flatMapOptional))
  define('OptionalNamespace.ofNonZeroValue(dyn): dyn', (_: unknown, value: unknown) =>
    isZero(value) ? Optional.none() : Optional.of(value),
  )
  macro('dyn.with(ast, ast): dyn', call => binding(call, run, withValue))
  macro('dyn.mapValues(ast, ast): dyn', call => binding(call, run, mapValues))
  macro('dyn.filterKeys(ast, ast): dyn', call => binding(call, run, filterKeys(true)))
  macro('dyn.removeKeys(ast, ast): dyn', call => binding(call, run, filterKeys(false)))
}

/** Replaces the library's `has`, which fails if the variable itself, or an intermediate part, is absent. */
export function presence(target: SyntaxNode, run: Run): Macro {
  return {
    async: false,
    typeCheck(checker, _, scope) {
      checker.check(target, scope)
      return checker.boolType
    },
    evaluate(evaluator, _, scope) {
      try {
        return isPresent(evaluator, target, scope, run)
      } catch (error) {
        if (isSkippedError(error, run)) return false
        throw error
      }
    },
  }
}

function isPresent(evaluator: Evaluator, target: SyntaxNode, scope: Scope, run: Run): boolean {
  const { left, right } = target
  switch (target.op) {
    case '.':
    case '.?':
      return hasField(evaluator.run(left!, scope), right, target, run)
    case '[]':
    case '[?]':
      return hasField(evaluator.run(left!, scope), evaluator.run(right!, scope), target, run)
  }
  const value = evaluator.run(target, scope)
  return value instanceof Optional ? value.hasValue() : value !== undefined
}

/** An empty list or map: the library types `[]` so narrowly that comparing its elements fails. */
export function emptyLiteral(make: () => unknown): Macro {
  return { async: false, typeCheck: checker => checker.dynType, evaluate: make }
}

function fallback(value: SyntaxNode, other: SyntaxNode, run: Run): Macro {
  return {
    async: false,
    typeCheck: (checker, _, scope) => common(checker, scope, [value, other]),
    evaluate(evaluator, _, scope) {
      let found: unknown
      try {
        found = unwrapped(evaluator.run(value, scope))
      } catch (error) {
        if (!isSkippedError(error, run)) throw error
      }
      return found === undefined || found === null ? evaluator.run(other, scope) : found
    },
  }
}

function unwrapped(value: unknown): unknown {
  return value instanceof Optional ? value.orValue(undefined) : value
}

/** The first argument with a non-null value; a failure counts as none unless it is the only result. */
function firstValue(candidates: readonly SyntaxNode[], run: Run): Macro {
  return {
    async: false,
    typeCheck: (checker, _, scope) => common(checker, scope, candidates),
    evaluate(evaluator, _, scope) {
      let failure: unknown
      for (const candidate of candidates) {
        try {
          const value = unwrapped(evaluator.run(candidate, scope))
          if (value !== null && value !== undefined) return value
          failure = undefined
        } catch (error) {
          if (codeOf(error) === 'budget' || (run.guards && !isAbsence(error))) throw error
          failure = error
        }
      }
      if (failure !== undefined) throw failure
      return null
    },
  }
}

function common(checker: Checker, scope: Scope, nodes: readonly SyntaxNode[]) {
  const types = nodes.map(node => plainType(checker.check(node, scope)))
  return types.reduce((all, type) =>
    type.name === 'null' ? all : (all.unify(checker.registry, type) ?? checker.dynType),
  )
}

function plainType(type: StaticType): StaticType {
  return type.kind === 'optional' ? (type.valueType ?? type) : type
}

type Apply = (input: unknown, body: (value: unknown) => unknown, run: Run) => unknown

function binding(call: MacroCall, run: Run, apply: Apply): Macro {
  const [variable, body] = call.args as [SyntaxNode, SyntaxNode]
  const receiver = call.receiver as SyntaxNode
  const keepsType = callOf(call.ast)?.name === 'with'
  return {
    async: false,
    typeCheck(checker, macro, scope) {
      if (variable.op !== 'id') {
        throw checker.createError('invalid_macro_argument', 'the first argument must be a plain name', variable)
      }
      const type = checker.check(receiver, scope)
      macro.local = scope.forkWithVariable(variable.args as string, keepsType ? type : checker.dynType)
      const result = checker.check(body, macro.local)
      return keepsType ? result : checker.dynType
    },
    evaluate(evaluator: Evaluator, macro, scope) {
      const input = evaluator.run(receiver, scope)
      return apply(input, value => evaluator.run(body, macro.local!.reuse(scope).setIterValue(value, evaluator)), run)
    },
  }
}

const mapOptional: Apply = (input, body) =>
  optionalOf(input).hasValue() ? Optional.of(body(optionalOf(input).value())) : Optional.none()

const flatMapOptional: Apply = (input, body) =>
  optionalOf(input).hasValue() ? optionalOf(body(optionalOf(input).value())) : Optional.none()

function optionalOf(value: unknown): Optional {
  if (value instanceof Optional) return value
  throw new CelFailure('optional_expected')
}

function isZero(value: unknown): boolean {
  if (isList(value) || isMap(value)) return sizeOf(value) === 0
  if (value instanceof Uint8Array) return value.length === 0
  if (isNumber(value)) return Number(value) === 0
  return value === null || value === '' || value === false
}

const withValue: Apply = (input, body) => body(input)

const mapValues: Apply = (input, body, run) => {
  const map = mapOf(input, run)
  const out = new Map<unknown, unknown>()
  for (const [key, value] of map.entries()) out.set(key, body(value))
  return out
}

function filterKeys(keep: boolean): Apply {
  return (input, body, run) => {
    const map = mapOf(input, run)
    const out = new Map<unknown, unknown>()
    for (const [key, value] of map.entries()) {
      const matches = body(key)
      if (typeof matches !== 'boolean') throw new CelFailure('invalid_condition_type')
      if (matches === keep) out.set(key, value)
    }
    return out
  }
}

function mapOf(value: unknown, run: Run): CelMap {
  if (!isMap(value)) throw new CelFailure('no_matching_overload')
  run.charge(value.size)
  return value
}

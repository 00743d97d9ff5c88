import type { Environment } from '@marcbachmann/cel-js'

/**
 * The parts of the library's tree that hardening relies on. The library exposes them at run time without declaring
 * them, so its version is pinned exactly.
 */
export interface SyntaxNode {
  readonly op: string
  args: unknown
  readonly pos: number
  readonly start: number
  readonly end: number
  readonly meta: NodeMeta
  setMeta<K extends keyof NodeMeta>(key: K, value: NodeMeta[K]): this
  checkedType?: StaticType
  candidates?: unknown
  condition?: SyntaxNode
  left?: SyntaxNode
  right?: SyntaxNode
  handle?: (...args: unknown[]) => unknown
}
export interface NodeMeta {
  alternate?: SyntaxNode
  macro?: Macro
  async?: boolean
  label?: string
  check: (checker: Checker, node: SyntaxNode, scope: Scope) => StaticType
  evaluate: (evaluator: Evaluator, node: SyntaxNode, scope: Scope) => unknown
}
export interface StaticType {
  readonly kind: string
  readonly name: string
  readonly valueType?: StaticType
  unify(registry: unknown, other: StaticType): StaticType | null
}
export interface Checker {
  readonly registry: unknown
  readonly dynType: StaticType
  readonly boolType: StaticType
  check(node: SyntaxNode, scope: Scope): StaticType
  createError(code: string, message: string, node: SyntaxNode): Error
}
export interface Evaluator {
  run(node: SyntaxNode, scope: Scope): unknown
  tryEval(node: SyntaxNode, scope: Scope): unknown
}
export interface Scope {
  forkWithVariable(name: string, type: StaticType): LocalScope
}
/** A variable of a macro or comprehension. The library keeps one per node and reuses it for every evaluation. */
export interface LocalScope extends Scope {
  iterValue: unknown
  accuValue: unknown
  reuse(parent: Scope): LocalScope
  setIterValue(value: unknown, evaluator: Evaluator): LocalScope
}
export interface Comprehension {
  /** `quantifier` for `all`, `exists` and `exists_one`. */
  readonly kind?: string
  readonly errorsAreFatal?: boolean
  readonly iterable: SyntaxNode
  readonly iterVarName: string
  readonly init: SyntaxNode
  readonly step: SyntaxNode
  /** False once the result is determined. */
  readonly condition?: (reached: unknown) => boolean
  readonly result: (reached: unknown) => unknown
  readonly iterCtx?: LocalScope
}
export interface Macro {
  readonly async: false
  typeCheck(checker: Checker, macro: Macro, scope: Scope): StaticType
  evaluate(evaluator: Evaluator, macro: Macro, scope: Scope): unknown
  /** The variable bound by the macro, once checked. */
  local?: LocalScope
  /** The library's name for it, in `cel.bind`. */
  bindCtx?: LocalScope
}
export interface MacroCall {
  readonly ast: SyntaxNode
  readonly args: readonly SyntaxNode[]
  readonly receiver: SyntaxNode | null
}

export interface Program {
  (root: object): unknown
  readonly ast: SyntaxNode
  check(): { readonly valid: boolean; readonly error?: unknown }
}

export function parseProgram(environment: Environment, text: string): Program {
  return environment.parse(text) as unknown as Program
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && typeof (value as { op?: unknown }).op === 'string'
}

/** The nodes below `node` that the author wrote, left to right, without generated ones. */
export function children(node: SyntaxNode): SyntaxNode[] {
  const out: SyntaxNode[] = []
  const collect = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) collect(item)
    else if (isNode(value)) out.push(value)
  }
  if (node.op !== 'value') collect(node.args)
  return out
}

/** The name and parts of a function or method call; undefined for any other node. */
export function callOf(
  node: SyntaxNode,
):
  | { readonly name: string; readonly receiver: SyntaxNode | undefined; readonly args: readonly SyntaxNode[] }
  | undefined {
  if (node.op === 'call') {
    const [name, args] = node.args as [string, SyntaxNode[]]
    return { name, receiver: undefined, args }
  }
  if (node.op === 'rcall') {
    const [name, receiver, args] = node.args as [string, SyntaxNode, SyntaxNode[]]
    return { name, receiver, args }
  }
  return undefined
}

export function rename(node: SyntaxNode, name: string): void {
  ;(node.args as unknown[])[0] = name
}

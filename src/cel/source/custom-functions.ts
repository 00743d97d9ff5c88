import type { FunctionForms } from '../environment.ts'
import type { Rejection } from '../expression.ts'
import { balanced } from '../inspect.ts'
import { childScopes } from '../rewrite.ts'
import { callOf, type SyntaxNode } from '../syntax-tree.ts'
import { adaptSource, type Source } from './adapt-source.ts'
import { type Definition, readDefinitions } from './function-definitions.ts'
import { ExpansionTooLarge, Pieces } from './pieces.ts'

export interface CustomFunctionsInit {
  readonly text: string
  /** Throws the library's error for text that is not an expression. */
  readonly parse: (text: string) => SyntaxNode
  readonly builtin: () => ReadonlyMap<string, FunctionForms>
}

/** Functions that call one another can grow an expression exponentially. */
const MAX_EXPANDED = 64 * 1024
const MAX_ARGUMENTS = 32
const NO_FORM: ReadonlySet<number> = new Set()
/** The variable that holds the arguments of a call. */
const ARGUMENTS = 'gw_args'
/** A value of any type. */
const ANYTHING = 'json("null")'
const WORD = /[A-Za-z_]\w*/g

/**
 * The functions of `config.customFunctions`. Calls are replaced by the function's expression before the calling one is
 * checked, so a function can use every variable that its callers can. The specification does not show them; like the
 * public system, this refuses recursion, a second definition, and the names of built-in functions.
 */
export class CustomFunctions {
  /** Why the text cannot be used. Calls of the functions concerned then give anything, so they are not reported too. */
  readonly problems: Rejection[] = []
  readonly #init: CustomFunctionsInit
  readonly #definitions = new Map<string, Definition>()
  /** Names whose calls give anything. */
  readonly #refused = new Set<string>()
  readonly #bodies = new Map<string, string>()
  readonly #expanding = new Set<string>()
  #forms: ReadonlyMap<string, FunctionForms> | undefined

  constructor(init: CustomFunctionsInit) {
    this.#init = init
    const read = readDefinitions(init.text)
    if ('problem' in read) {
      this.problems.push({ kind: 'syntax', problem: read.problem })
      for (const word of init.text.match(WORD) ?? []) this.#refused.add(word)
      return
    }
    for (const definition of read) {
      if (init.builtin().has(definition.name)) {
        const problem = { message: `\`${definition.name}\` is a built-in function`, help: 'Choose another name.' }
        this.refuse(definition, { kind: 'type', problem: { ...problem, span: definition.at } })
      } else this.#definitions.set(definition.name, definition)
    }
  }

  get text(): string {
    return this.#init.text
  }

  get definitions(): Iterable<Definition> {
    return this.#definitions.values()
  }

  /** The call forms of all functions, by name. */
  forms(): ReadonlyMap<string, FunctionForms> {
    if (this.#forms) return this.#forms
    const forms = new Map(this.#init.builtin())
    for (const { name, method, parameters, rest } of this.#definitions.values()) {
      const fewest = rest ? parameters.length - 1 : parameters.length
      const counts = rest ? Array.from({ length: MAX_ARGUMENTS - fewest + 1 }, (_, i) => fewest + i) : [fewest]
      forms.set(name, { method: method ? new Set(counts) : NO_FORM, plain: method ? NO_FORM : new Set(counts) })
    }
    this.#forms = forms
    return forms
  }

  /** The source with all calls replaced. Throws like `parse`, and ExpansionTooLarge. */
  expand(source: Source): Source {
    const words = source.text.match(WORD) ?? []
    if (!words.some(word => this.#definitions.has(word) || this.#refused.has(word))) return source
    const pieces = this.#replaced(source.text)
    return { text: pieces.text, place: offset => source.place(pieces.place(offset)) }
  }

  /** The expression of a function with arguments of any type, at its place in the whole text. Throws like `expand`. */
  bodyOf({ name, method, parameters, body: [start, end] }: Definition): Source {
    const written = adaptSource(this.#init.text.slice(start, end))
    const names = method ? ['this', ...parameters] : parameters
    this.#expanding.add(name)
    try {
      const pieces = this.#replaced(written.text, new Map(names.map(each => [each, ANYTHING])))
      return { text: pieces.text, place: offset => start + written.place(pieces.place(offset)) }
    } finally {
      this.#expanding.delete(name)
    }
  }

  /** `parameters`: what each name stands for. */
  #replaced(text: string, parameters: ReadonlyMap<string, string> = new Map()): Pieces {
    const pieces = new Pieces(text)
    const write = (from: number, to: number, root: SyntaxNode, bound: readonly string[]): void => {
      let at = from
      const visit = (node: SyntaxNode, bound: readonly string[]): void => {
        const replacement =
          node.op === 'id' && !bound.includes(node.args as string) && parameters.get(node.args as string)
        const called = this.#calledBy(node)
        if (!replacement && !called) {
          const inner = [...childScopes(node, bound)].sort(([a], [b]) => a.start - b.start)
          for (const [child, names] of inner) visit(child, names)
          return
        }
        const [start, end] = rangeOf(node, text)
        pieces.copy(at, start)
        if (replacement) pieces.add(replacement, start)
        else if (called) this.#writeCall(pieces, called, start, argument => writeArgument(argument, bound))
        at = end
      }
      visit(root, bound)
      pieces.copy(at, to)
    }
    const writeArgument = (node: SyntaxNode, bound: readonly string[]): void => {
      const [start, end] = rangeOf(node, text)
      write(start, end, node, bound)
    }
    write(0, text.length, this.#init.parse(text), [])
    if (pieces.text.length > MAX_EXPANDED) throw new ExpansionTooLarge()
    return pieces
  }

  /** Reports a mistake in the definition. */
  refuse({ name }: Definition, problem: Rejection): void {
    if (!this.#refused.has(name)) this.problems.push(problem)
    this.#refused.add(name)
    this.#bodies.clear()
  }

  #calledBy(node: SyntaxNode): Called | undefined {
    const call = callOf(node)
    if (!call) return undefined
    if (this.#refused.has(call.name)) return { arguments: [], rest: undefined, body: ANYTHING }
    const definition = this.#definitions.get(call.name)
    if (!definition) return undefined
    const { method, parameters, rest } = definition
    const fixed = rest ? parameters.length - 1 : parameters.length
    const fits = rest ? call.args.length >= fixed : call.args.length === fixed
    if (!fits || method !== (call.receiver !== undefined)) return undefined
    return {
      arguments: [...(call.receiver ? [call.receiver] : []), ...call.args.slice(0, fixed)],
      rest: rest ? call.args.slice(fixed) : undefined,
      body: this.#expandedBody(definition),
    }
  }

  /** `f(a, b)` becomes `[a, b].with(gw_args, …)`: arguments are evaluated once, before the body. */
  #writeCall(pieces: Pieces, called: Called, at: number, write: (argument: SyntaxNode) => void): void {
    if (called.arguments.length === 0 && called.rest === undefined) {
      pieces.add(`(${called.body}\n)`, at)
      return
    }
    const list = (items: readonly SyntaxNode[]): void => {
      for (const [i, item] of items.entries()) {
        pieces.add(i === 0 ? '(' : ', (', at)
        write(item)
        pieces.add(')', at)
      }
    }
    pieces.add('[', at)
    list(called.arguments)
    if (called.rest) {
      pieces.add(called.arguments.length === 0 ? '[' : ', [', at)
      list(called.rest)
      pieces.add(']', at)
    }
    pieces.add(`].with(${ARGUMENTS}, (${called.body}\n))`, at)
  }

  #expandedBody(definition: Definition): string {
    const { name, at, method, parameters, body } = definition
    const known = this.#bodies.get(name)
    if (known !== undefined) return known
    if (this.#expanding.has(name)) {
      const help = 'Functions cannot be recursive: use `map`, `filter` or `exists`.'
      this.refuse(definition, { kind: 'type', problem: { message: `\`${name}\` calls itself`, help, span: at } })
      return ANYTHING
    }
    this.#expanding.add(name)
    const names = method ? ['this', ...parameters] : parameters
    const text = adaptSource(this.#init.text.slice(...body)).text
    let expanded: string
    try {
      expanded = this.#replaced(text, new Map(names.map((each, i) => [each, `${ARGUMENTS}[${i}]`]))).text
    } catch (error) {
      // The definition is reported: its callers are not at fault.
      if (error instanceof ExpansionTooLarge) throw error
      expanded = ANYTHING
    } finally {
      this.#expanding.delete(name)
    }
    this.#bodies.set(name, expanded)
    return expanded
  }
}

/** A call of a function: the receiver of a method is its first argument. */
interface Called {
  readonly arguments: readonly SyntaxNode[]
  readonly rest: readonly SyntaxNode[] | undefined
  readonly body: string
}

/** The library's range of a receiver excludes its parentheses. */
function rangeOf(node: SyntaxNode, text: string): readonly [number, number] {
  if (node.op === 'call' || node.op === 'id' || node.op === 'value') return [node.start, node.end]
  return balanced(text, node.start, node.end)
}

import type { Expression } from '../cel/expression.ts'
import type { Exchange } from '../http/exchange.ts'
import { type BodyEdit, type BodyEditSpec, compileBodyEdit, compileFinalEdit, type FinalEdit } from './body-edit.ts'
import type { CachePoints } from './formats/converse/cache-points.ts'
import type { Format } from './formats/format.ts'
import type { JsonBody } from './json-body.ts'
import { matchesModel } from './model-name.ts'
import type { Prompt, Prompts } from './prompts.ts'
import { compileRoutes, type RouteMap, type RouteSelector } from './route-type.ts'

export type { Prompt, Prompts }

export interface LlmPolicySpec extends BodyEditSpec {
  readonly routes?: RouteMap | undefined
  readonly modelAliases?: Readonly<Record<string, string>> | undefined
  readonly prompts?: Prompts | undefined
  readonly promptCaching?: CachePoints | undefined
  readonly finalTransformations?: Readonly<Record<string, Expression>> | undefined
}

/** The `ai` policy of an LLM backend (spec "BackendAI"). */
export class LlmPolicy {
  readonly routeOf: RouteSelector
  readonly caching: CachePoints | undefined
  readonly final: FinalEdit | undefined
  readonly #edit: BodyEdit | undefined
  readonly #exact: ReadonlyMap<string, string>
  readonly #wild: readonly (readonly [pattern: string, model: string])[]
  readonly #prompts: Prompts | undefined

  constructor(spec: LlmPolicySpec) {
    const aliases = Object.entries(spec.modelAliases ?? {})
    this.routeOf = compileRoutes(spec.routes)
    this.caching = spec.promptCaching
    this.final = compileFinalEdit(spec.finalTransformations)
    this.#edit = compileBodyEdit(spec)
    this.#exact = new Map(aliases.filter(([name]) => !name.includes('*')))
    this.#wild = aliases.filter(([name]) => name.includes('*')).sort(([a], [b]) => b.length - a.length)
    this.#prompts = spec.prompts && {
      prepend: (spec.prompts.prepend ?? []).map(messageOf),
      append: (spec.prompts.append ?? []).map(messageOf),
    }
  }

  /** Fields first, then the model alias, then the added messages. */
  apply(body: JsonBody, x: Exchange, format: Format): void {
    this.#edit?.(body, x)
    const model = body.get('model')
    const alias = typeof model === 'string' ? this.aliasOf(model) : undefined
    if (alias !== undefined) body.set('model', alias)
    if (this.#prompts) format.addPrompts?.(body, this.#prompts)
  }

  /** The provider's name for the model, if configured. */
  aliasOf(model: string): string | undefined {
    return this.#exact.get(model) ?? this.#wild.find(([pattern]) => matchesAlias(pattern, model))?.[1]
  }
}

function messageOf({ role, content }: Prompt): Prompt {
  return { role, content }
}

/** The single `*` of an alias may be anywhere. */
function matchesAlias(pattern: string, model: string): boolean {
  const star = pattern.indexOf('*')
  if (star === 0 || star === pattern.length - 1) return matchesModel(pattern, model)
  const [head = '', ...rest] = pattern.split('*')
  const tail = rest.join('*')
  return model.length >= head.length + tail.length && model.startsWith(head) && model.endsWith(tail)
}

import { answerWith } from '../../calls/outcall.ts'
import { runAttempt } from '../../calls/run-policies.ts'
import { GatewayError } from '../../http/errors.ts'
import type { Attempt, Exchange, Reply } from '../../http/exchange.ts'
import type { ResponseHandler } from '../../http/transport.ts'
import { formatOf } from '../../llm/formats/index.ts'
import type { JsonBody } from '../../llm/json-body.ts'
import { indexModels, matchesModel } from '../../llm/model-name.ts'
import { compileRoutes, DEFAULT_ROUTES } from '../../llm/route-type.ts'
import type { BackendContext } from '../backend.ts'
import { callProvider } from './call.ts'
import { callInTurn } from './candidates.ts'
import type { Model } from './compile-models.ts'
import { formField } from './multipart.ts'
import { BODY_LIMIT } from './provider-target.ts'
import { readJson } from './read-json.ts'
import { askedModel } from './realtime/session-request.ts'
import { bodyError, routerError } from './router-error.ts'
import { traceModel, traceVirtualModel } from './trace-choice.ts'
import { choiceOf, type ModelChoice, type VirtualModel } from './virtual-models.ts'

/** What a request says about the model that it wants. */
interface Asked {
  readonly model: string
  /** Undefined for a form body, which passes through. */
  readonly body: JsonBody | undefined
  /** Set where the path determines it. */
  readonly stream?: boolean
}

const MODELS_PATH = /^(?:\/v1)?\/models(?:[/?]|$)/

/** Lists the models and routes each request to the one that its body names. */
export class ModelRouter {
  readonly #models: readonly Model[]
  readonly #public
  readonly #virtual: ReadonlyMap<string, VirtualModel>
  readonly #ctx: BackendContext
  readonly #routeOf = compileRoutes(DEFAULT_ROUTES)
  /** Survives reloads, so that clients see a stable date. */
  readonly #started: { readonly seconds: number }

  constructor(models: readonly Model[], virtual: ReadonlyMap<string, VirtualModel>, ctx: BackendContext) {
    this.#models = models
    this.#public = indexModels(models.filter(model => model.visible).map(model => [model.name, model] as const))
    this.#virtual = virtual
    this.#ctx = ctx
    this.#started = ctx.state('started', () => ({ seconds: Math.floor(ctx.runtime.clock.now() / 1000) }))
  }

  send(x: Exchange, attempt: Attempt, on: ResponseHandler): void {
    if (MODELS_PATH.test(x.request.path)) {
      this.#list(x).then(
        reply => answerWith(reply, on),
        error => on.fail(error),
      )
    } else this.#route(x, attempt, on).catch(error => on.fail(error))
  }

  /** The public models that the caller may use in file order, then the virtual ones. */
  async #list(x: Exchange): Promise<Reply> {
    const names = new Set<string>()
    for (const model of this.#models) {
      if (model.visible && allowed(x, model.name) && (await authorized(model, x))) names.add(model.name)
    }
    for (const { name, models } of this.#virtual.values()) {
      if (allowed(x, name) && (await this.#anyAuthorized(models, x))) names.add(name)
    }
    const data = [...names].map(id => ({
      id,
      object: 'model',
      created: this.#started.seconds,
      owned_by: 'openai',
    }))
    const body = JSON.stringify({ object: 'list', data })
    return { status: 200, headers: ['content-type', 'application/json'], body, reason: 'DirectResponse' }
  }

  async #anyAuthorized(models: readonly Model[], x: Exchange): Promise<boolean> {
    for (const model of models) if (await authorized(model, x)) return true
    return false
  }

  /** Throws GatewayError with a body for the client. A model that the caller may not use is reported as nonexistent. */
  async #route(x: Exchange, attempt: Attempt, on: ResponseHandler): Promise<void> {
    const asked = await this.#read(x)
    if (!allowed(x, asked.model)) throw routerError('model_not_found')
    const streaming = asked.stream ?? asked.body?.get('stream') === true
    x.llm = { provider: 'unknown', streaming, requestModel: asked.model }
    if (asked.body) x.llm.request = asked.body.value
    const choices: ModelChoice[] = []
    for (const choice of this.#choose(asked.model, x)) if (await authorized(choice.model, x)) choices.push(choice)
    if (choices.length === 0) throw routerError('model_not_found')
    const calling = {
      runtime: this.#ctx.runtime,
      send: ({ model, name }: ModelChoice, own: Exchange, attempt: Attempt, on: ResponseHandler, more: boolean) => {
        const body = asked.body?.fork()
        if (body && name !== asked.model) body.set('model', name)
        callProvider(this.#ctx.runtime, model.to, model.routeOf(own.request.path), own, attempt, on, {
          body,
          client: x,
          more,
          model: name,
        })
      },
    }
    callInTurn(choices, calling, x, attempt, on)
  }

  async #read(x: Exchange): Promise<Asked> {
    const route = this.#routeOf(x.request.path)
    if (route === 'realtime') return { model: queryModel(x.request.path), body: undefined }
    const type = x.request.headers.get('content-type') ?? ''
    try {
      if (/^\s*multipart\/form-data\b/i.test(type)) {
        const model = formField(x.body.bytes ?? (await x.body.buffer(BODY_LIMIT)), type, 'model')
        if (model === undefined) throw routerError('invalid_model')
        return { model, body: undefined }
      }
      const body = await readJson(x)
      const address = formatOf(route)?.address?.(x.request.path)
      if (address) return { ...address, body }
      const model = body.get('model')
      if (typeof model !== 'string' || model === '') throw routerError('missing_model')
      return { model, body }
    } catch (error) {
      if (error instanceof GatewayError && error.details.body !== undefined) throw error
      throw bodyError(error)
    }
  }

  #choose(name: string, x: Exchange): readonly ModelChoice[] {
    const virtual = this.#virtual.get(name)
    if (virtual) {
      const candidates = virtual.choose(x)
      if (x.trace) traceVirtualModel(x, virtual, candidates)
      if (candidates.length > 0) return candidates
      throw routerError(
        'virtual_model_no_matching_target',
        `Virtual model ${name} did not match any conditional target`,
      )
    }
    const model = this.#public.find(name).find(each => each.fits(x))
    if (x.trace) traceModel(x, name, model, this.#models)
    if (!model) throw routerError('model_not_found')
    return [choiceOf(model, name)]
  }
}

/** Checks the model names that an API key is restricted to, if any; wildcards work as in model names. */
function allowed(x: Exchange, model: string): boolean {
  const names = x.auth.apiKey?.allowedModels
  if (!Array.isArray(names)) return true
  return names.some(name => typeof name === 'string' && matchesModel(name, model))
}

async function authorized(model: Model, x: Exchange): Promise<boolean> {
  try {
    return (
      (await runAttempt(model.authorization.attempt, x, { index: 0, target: model.name, startedAt: x.startedMono })) ===
      undefined
    )
  } catch (error) {
    if (error instanceof GatewayError && error.reason === 'Authorization') return false
    throw error
  }
}

function queryModel(path: string): string {
  const model = askedModel(path)
  if (model === undefined) throw routerError('missing_model', "LLM request is missing query parameter 'model'")
  return model
}

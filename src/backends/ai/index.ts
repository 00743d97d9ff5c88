import { NO_STEPS } from '../../calls/step.ts'
import type { Path } from '../../diagnostics/diagnostic.ts'
import type { Attempt, Exchange } from '../../http/exchange.ts'
import type { ResponseHandler } from '../../http/transport.ts'
import { openAiErrors } from '../../llm/formats/completions/errors.ts'
import { formatOf } from '../../llm/formats/index.ts'
import { compileRoutes, type RouteType } from '../../llm/route-type.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { defineBackend } from '../backend.ts'
import { endpointHealth } from '../endpoint-health.ts'
import { callProvider } from './call.ts'
import { type Candidate, callInTurn, rank } from './candidates.ts'
import { type AiContext, aiContext, type ProviderTarget, providerTarget } from './provider-target.ts'
import { PROVIDERS, type ProviderKey } from './providers/index.ts'
import type { Wire } from './providers/provider.ts'
import { BODY_LIMIT, readJson } from './read-json.ts'
import { errorInDialect } from './reply-context.ts'
import { type AiSpec, aiSchema, type ProviderChoice, type ProviderEntry } from './schema.ts'
import { traceProviders } from './trace-choice.ts'

export { compileLlmSection } from './model-router.ts'

/** An LLM provider, or groups of them (spec "AI backend"). */
export const aiBackend = defineBackend({
  kind: 'ai',
  doc: 'An LLM provider, or groups of them.',
  spec: 'AI backend',
  schema: aiSchema,
  compile(spec: AiSpec, ctx) {
    const groups = compileGroups(spec, aiContext(ctx))
    const [only] = groups.flat()
    const plain = groups.flat().length === 1 && only?.steps === NO_STEPS ? only : undefined
    const { runtime } = ctx
    return {
      key: ctx.key,
      name: ctx.name,
      kind: 'ai',
      protocol: 'llm',
      origin: ctx.origin,
      replayable: true,
      holdsRequest: BODY_LIMIT,
      send(x, attempt, on) {
        if (plain) callProvider(runtime, plain.to, routeFor(plain, x), x, attempt, on)
        else callMembers(groups, runtime, x, attempt, on).catch(error => on.fail(error))
      },
    }
  },
})

interface Member extends Candidate {
  readonly to: ProviderTarget
}

/** One after the other until one answers. The body is read first: it may have to be sent several times. */
async function callMembers(
  groups: readonly (readonly Member[])[],
  runtime: Runtime,
  x: Exchange,
  attempt: Attempt,
  on: ResponseHandler,
): Promise<void> {
  const formats = groups.flat().flatMap(member => formatOf(routeFor(member, x)) ?? [])
  const dialect = formats[0]?.errors ?? openAiErrors
  const body = await readBody(x, formats.length > 0).catch(error => {
    throw errorInDialect(dialect, error)
  })
  const members = rank(groups, runtime.random, runtime.clock.mono())
  if (x.trace) traceProviders(x, members)
  const calling = {
    runtime,
    send: (member: Member, own: Exchange, attempt: Attempt, on: ResponseHandler, more: boolean) =>
      callProvider(runtime, member.to, routeFor(member, x), own, attempt, on, { body: body?.fork(), client: x, more }),
  }
  callInTurn(members, calling, x, attempt, on)
}

function routeFor({ to }: Member, x: Exchange): RouteType {
  return (to.policy?.routeOf ?? EVERYTHING_CHATS)(x.request.path)
}

const EVERYTHING_CHATS = compileRoutes(undefined)

async function readBody(x: Exchange, parse: boolean) {
  if (parse) return readJson(x)
  if (x.body.bytes === undefined) await x.body.buffer(BODY_LIMIT)
  return undefined
}

/** Providers by group; one with a finding is left out. */
function compileGroups(spec: AiSpec, ctx: AiContext): Member[][] {
  const { provider } = spec
  if (provider) {
    const member = compileMember(spec.name ?? ctx.name, spec, provider, [], ctx)
    return member ? [[member]] : []
  }
  return (spec.groups ?? []).map(({ providers }, g) =>
    providers.flatMap(
      (entry, p) => compileMember(entry.name, entry, entry.provider, ['groups', g, 'providers', p], ctx) ?? [],
    ),
  )
}

function compileMember(
  name: string,
  spec: Omit<ProviderEntry, 'provider'>,
  choice: ProviderChoice,
  path: Path,
  ctx: AiContext,
): Member | undefined {
  const { key, provider, wire } = wireOf(choice)
  const policies = ctx.policiesAt([...path, 'policies'], name)
  const settings = { ...ctx.settings, ...policies?.settings }
  const { tokenize } = spec
  const names = [name, key]
  const to = providerTarget({ names, provider, wire, address: spec, settings, key: undefined, tokenize, ctx })
  if (to === undefined) {
    ctx.report({
      code: 'GW103',
      path: [...path, 'provider', 'custom'],
      at: 'key',
      message: 'a custom provider has no address of its own: `hostOverride` is required',
      label: '`hostOverride` is missing',
    })
    return undefined
  }
  const health = endpointHealth(ctx, `provider:${name}`)
  return {
    name,
    to,
    health,
    rules: settings.health,
    steps: policies?.steps ?? NO_STEPS,
    origin: ctx.originOf(path),
  }
}

/** The chosen provider in the file, its name in telemetry, and how it is called. */
function wireOf(choice: ProviderChoice): { readonly key: ProviderKey; readonly provider: string; readonly wire: Wire } {
  const key = Object.keys(choice).find(name => choice[name as ProviderKey] !== undefined) as ProviderKey
  const definition = PROVIDERS[key]
  const settings = choice[key] as never
  const override = choice.custom?.providerOverride
  return { key, provider: override ?? definition.telemetryName, wire: definition.wire(settings) }
}

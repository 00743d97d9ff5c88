import { NO_STEPS } from '../../calls/step.ts'
import type { Path } from '../../diagnostics/diagnostic.ts'
import { type Backend, type BackendContext, defineBackend } from '../backend.ts'
import { endpointHealth } from '../endpoint-health.ts'
import { compileModels } from './compile-models.ts'
import type { LlmSpec } from './llm-schema.ts'
import type { Member } from './provider-groups.ts'
import { type AiContext, aiContext, BODY_LIMIT, providerTarget } from './provider-target.ts'
import { PROVIDERS, type ProviderKey } from './providers/index.ts'
import type { Wire } from './providers/provider.ts'
import { type AiSpec, aiSchema, type ProviderChoice, type ProviderEntry } from './schema.ts'
import { compileVirtualModels } from './virtual-models.ts'

/** An LLM provider, or groups of them (spec "AI backend"). */
export const aiBackend = defineBackend({
  kind: 'ai',
  doc: 'An LLM provider, or groups of them.',
  spec: 'AI backend',
  schema: aiSchema,
  compile(spec: AiSpec, ctx) {
    const groups = compileGroups(spec, aiContext(ctx))
    const calls = ctx.serving(
      () => import('./provider-groups.ts'),
      ({ callsTo }) => callsTo(groups, ctx),
    )
    return {
      key: ctx.key,
      name: ctx.name,
      kind: 'ai',
      protocol: 'llm',
      origin: ctx.origin,
      replayable: true,
      holdsRequest: BODY_LIMIT,
      send: (x, attempt, on) => calls.part(x, attempt, on),
    }
  },
})

/**
 * The models of the `llm` section as one backend. The file's listener (port 4000 by default) and its policies are in
 * front of it.
 */
export function compileLlmSection(spec: LlmSpec, ctx: BackendContext): Backend {
  const models = compileModels(spec, ctx)
  const virtual = compileVirtualModels(spec, models, ctx)
  const router = ctx.serving(
    () => import('./model-router.ts'),
    ({ ModelRouter }) => new ModelRouter(models, virtual, ctx),
  )
  return {
    key: ctx.key,
    name: ctx.name,
    kind: 'llm',
    protocol: 'llm',
    origin: ctx.origin,
    replayable: true,
    holdsRequest: BODY_LIMIT,
    send: (x, attempt, on) => router.part.send(x, attempt, on),
  }
}

/** Providers by group, without those that have findings. */
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

/** The configured provider, its name in telemetry, and its wire format. */
function wireOf(choice: ProviderChoice): { readonly key: ProviderKey; readonly provider: string; readonly wire: Wire } {
  const key = Object.keys(choice).find(name => choice[name as ProviderKey] !== undefined) as ProviderKey
  const definition = PROVIDERS[key]
  const settings = choice[key] as never
  const override = choice.custom?.providerOverride
  return { key, provider: override ?? definition.telemetryName, wire: definition.wire(settings) }
}

export { compileLlmSection } from './model-router.ts'

import { compileRoutes } from '../../llm/route-type.ts'
import { type BackendContext, defineBackend } from '../backend.ts'
import { callProvider } from './call.ts'
import { type ProviderAddress, type ProviderTarget, providerTarget } from './provider-target.ts'
import { PROVIDERS, type ProviderKey } from './providers/index.ts'
import type { Wire } from './providers/provider.ts'
import { type AiSpec, aiSchema, type ProviderChoice } from './schema.ts'

/** An LLM provider, or groups of them (spec "AI backend"). */
export const aiBackend = defineBackend({
  kind: 'ai',
  doc: 'An LLM provider.',
  spec: 'AI backend',
  schema: aiSchema,
  compile(spec: AiSpec, ctx) {
    const to = spec.provider && targetOf(spec.provider, spec, ctx)
    const routeOf = compileRoutes(undefined)
    return {
      key: ctx.key,
      name: ctx.name,
      kind: 'ai',
      protocol: 'llm',
      origin: ctx.origin,
      replayable: true,
      send(x, _attempt, on) {
        callProvider(ctx.runtime, to as ProviderTarget, routeOf(x.request.path), x, on)
      },
    }
  },
})

function targetOf(choice: ProviderChoice, address: ProviderAddress, ctx: BackendContext): ProviderTarget | undefined {
  const { provider, wire } = wireOf(choice)
  const target = providerTarget({ provider, wire, address, settings: ctx.settings, key: undefined })
  if (target === undefined) {
    ctx.report({
      code: 'GW103',
      path: [],
      at: 'parent',
      message: 'a custom provider has no address of its own: `hostOverride` is required',
      label: '`hostOverride` is missing',
    })
  }
  return target
}

/** The chosen provider's name in telemetry, and how it is called. */
export function wireOf(choice: ProviderChoice): { readonly provider: string; readonly wire: Wire } {
  const key = Object.keys(choice).find(name => choice[name as ProviderKey] !== undefined) as ProviderKey
  const definition = PROVIDERS[key]
  const settings = choice[key] as never
  const override = choice.custom?.providerOverride
  return { provider: override ?? definition.telemetryName, wire: definition.wire(settings) }
}

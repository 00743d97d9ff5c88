// A single fixed address: the `host` of a route.
import { hostPort } from '../schema/scalars.ts'
import { defineBackend } from './backend.ts'
import { endpointHealth, watchHealth } from './endpoint-health.ts'
import { HttpTarget } from './http-target.ts'

export const staticBackend = defineBackend({
  kind: 'host',
  doc: '`host:port` or `unix:/path`, without a scheme; TLS comes with `policies.backendTLS`.',
  spec: 'Backends',
  schema: hostPort,
  compile(spec, ctx) {
    const { settings, runtime } = ctx
    const at = new HttpTarget(spec, settings)
    const { clock } = runtime
    const base = {
      key: ctx.key,
      name: ctx.name,
      kind: 'host',
      protocol: 'http' as const,
      origin: ctx.origin,
      target: at.target,
      replayable: true,
    }
    const rules = settings.health
    if (rules === undefined) return { ...base, send: (x, attempt, on) => at.send(runtime, x, attempt, on) }
    // There is no other endpoint to fail over to: its health is for display only.
    const health = endpointHealth(ctx, at.address)
    const watched = { endpoint: at.address, health, rules, clock }
    return {
      ...base,
      health: () => [health.facts(at.address, clock)],
      send: (x, attempt, on) => at.send(runtime, x, attempt, watchHealth(watched, x, attempt, on)),
    }
  },
})

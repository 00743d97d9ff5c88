// The workloads of a service of the file.

import { GatewayError } from '../http/errors.ts'
import type { Attempt, Exchange } from '../http/exchange.ts'
import { tagOf } from '../http/facts/pinned-session.ts'
import { handlerAround, type ResponseHandler } from '../http/transport.ts'
import type { UpstreamSettings } from '../policies/policy.ts'
import { serviceReference } from '../policies/upstream/policy-target.ts'
import { parseHostPort } from '../schema/scalars.ts'
import { type Backend, type BackendContext, defineBackend, type Service } from './backend.ts'
import { endpointHealth, watchHealth } from './endpoint-health.ts'
import { affinityOf, EndpointSet } from './endpoints.ts'
import { HttpTarget } from './http-target.ts'
import { refusing } from './refusing.ts'

export const serviceBackend = defineBackend({
  kind: 'service',
  doc: 'A service of this file, `namespace/hostname`, and its port.',
  schema: serviceReference,
  compile(spec, ctx) {
    const service = ctx.service?.(spec, [])
    return service ? served(service, ctx) : refusing('service', ctx)
  },
})

function served(service: Service, ctx: BackendContext): Backend {
  const { runtime } = ctx
  const { clock, random } = runtime
  const settings = settingsFor(service, ctx.settings)
  const endpoints = new EndpointSet(
    service.endpoints.map(({ name, host, port, capacity }) => ({
      name,
      capacity,
      at: new HttpTarget({ host, port }, settings),
    })),
    endpoint => endpointHealth(ctx, endpoint),
  )
  const sendPicked = (x: Exchange, attempt: Attempt, on: ResponseHandler, [next, ...others]: HttpTarget[]): void => {
    if (!next) {
      on.fail(new GatewayError('destinationRefused'))
      return
    }
    const fail = (error: Error): void => {
      // Nothing of the request has been sent.
      if (others.length > 0 && isUnreached(error)) sendPicked(x, attempt, on, others)
      else on.fail(error)
    }
    next.send(runtime, x, attempt, handlerAround(on, { fail }))
  }
  const pick = (x: Exchange | undefined, tag?: string) =>
    endpoints.pick(random, clock.mono(), x && affinityOf(settings, x), tag)
  return {
    key: ctx.key,
    name: ctx.name,
    kind: 'service',
    protocol: 'http',
    origin: ctx.origin,
    get target() {
      return pick(undefined)?.endpoint.at.target
    },
    // What a picker has seen of a body is gone.
    replayable: settings.picked === undefined,
    health: () => endpoints.facts(clock),
    send(x, attempt, on) {
      if (settings.picked) {
        sendPicked(x, attempt, on, chosen(x, settings.picked, service, settings))
        return
      }
      // A session leaves an endpoint that has just failed.
      const picked = pick(x, attempt.index === 0 ? x.session?.wants('endpoint') : undefined)
      if (picked === undefined) {
        on.fail(new GatewayError('noHealthyBackend'))
        return
      }
      const { endpoint, health } = picked
      x.session?.goesTo('endpoint', tagOf(endpoint.name))
      const watched = { endpoint: endpoint.name, health, rules: settings.health, clock }
      endpoint.at.send(runtime, x, attempt, watchHealth(watched, x, attempt, on))
    },
  }
}

/** The service's own settings apply where no policy sets them. */
function settingsFor({ protocol, hostname, subjectAltNames }: Service, settings: UpstreamSettings): UpstreamSettings {
  const { tls } = settings
  const version = protocol === 'Http2' || protocol === 'Grpc' ? '2' : protocol === 'Http11' ? '1.1' : undefined
  return {
    ...(version === undefined ? {} : { version }),
    ...settings,
    ...(tls === undefined
      ? {}
      : {
          tls: {
            // Its endpoints are addresses, without a hostname that a certificate could carry.
            servername: hostname,
            ...(subjectAltNames.length > 0 && tls.servername === undefined ? { subjectAltNames } : {}),
            ...tls,
          },
        }),
  }
}

/** The endpoints that a picker has named. */
function chosen(
  x: Exchange,
  { destinations, anywhere }: NonNullable<UpstreamSettings['picked']>,
  { endpoints }: Service,
  settings: UpstreamSettings,
): HttpTarget[] {
  return destinations(x).flatMap(name => {
    const to = parseHostPort(name)
    if (
      typeof to === 'string' ||
      to.unixPath !== undefined ||
      (!anywhere && !endpoints.some(each => each.name === name))
    )
      return []
    return [new HttpTarget(to, settings)]
  })
}

function isUnreached(error: Error): boolean {
  const { cause } = error
  return cause instanceof Error && 'syscall' in cause && cause.syscall === 'connect'
}

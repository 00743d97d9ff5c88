// A forward proxy: each request names its destination.
import { Cidr } from '../cel/ip-address.ts'
import { defaultPort, parseAuthority } from '../http/authority.ts'
import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import { ipVersion } from '../http/ip-version.ts'
import type { Target } from '../http/transport.ts'
import { cel, list, object, opt, parsed, string } from '../schema/builder.ts'
import { parseHostPort } from '../schema/scalars.ts'
import { addressGuard } from './address-guard.ts'
import { type BackendContext, defineBackend } from './backend.ts'
import { HttpTarget } from './http-target.ts'

/** Number of cached destinations: clients may name any number of them. */
const MAX_KNOWN = 256

const range = parsed(
  string({ min: 1, max: 64 }),
  'an address range such as `10.0.0.0/8`',
  text => {
    const cidr = Cidr.parse(text)
    if (cidr) return { value: cidr }
    return {
      problem: {
        message: `\`${text}\` is not an address range`,
        ...(ipVersion(text) === 0 ? {} : { suggestion: `${text}/${ipVersion(text) === 4 ? 32 : 128}` }),
      },
    }
  },
  Cidr.parse('10.0.0.0/8') as Cidr,
)

export const dynamicBackend = defineBackend({
  kind: 'dynamic',
  doc: 'A forward proxy: the destination comes from the request, or is port 443 of the server name of a TLS connection. Restrict who may use it.',
  spec: 'ProxyBackend',
  schema: object('dynamic backend', {
    target: opt(cel('request', 'string'), 'Expression for `host:port`; the authority of the request when unset.'),
    allow: opt(
      list(range, { max: 64 }),
      'Ranges of blocked addresses that may be called: loopback, link-local and metadata addresses are blocked.',
    ),
  }),
  compile({ target, allow = [] }, ctx) {
    const destinations = new Destinations(ctx, addressGuard(allow), `but ${allow.join()}`)
    const secure = ctx.settings.tls !== undefined
    return {
      key: ctx.key,
      name: ctx.name,
      kind: 'dynamic',
      protocol: 'http',
      origin: ctx.origin,
      replayable: true,
      ...(target === undefined && { targetFor: name => destinations.forName(name) }),
      send(x, attempt, on) {
        let text = x.request.authority
        if (target !== undefined) {
          const outcome = target.evaluate(x)
          text = outcome.ok && typeof outcome.value === 'string' ? outcome.value : ''
        }
        const at = destinations.at(text, secure || x.request.scheme === 'https' ? 'https' : 'http')
        if (at === undefined) on.fail(badDestination(x, target !== undefined))
        else at.send(ctx.runtime, x, attempt, on)
      },
    }
  },
})

class Destinations {
  readonly #ctx: BackendContext
  readonly #permits: (address: string) => boolean
  readonly #guard: string
  readonly #known = new Map<string, HttpTarget>()

  constructor(ctx: BackendContext, permits: (address: string) => boolean, guard: string) {
    this.#guard = guard
    this.#ctx = ctx
    this.#permits = permits
  }

  /** Always port 443: a client must not choose the port through the name. */
  forName(serverName: string | undefined): Target | undefined {
    if (serverName === undefined || serverName.includes(':')) return undefined
    return this.at(serverName, 'https')?.target
  }

  /** Undefined unless the text is `host` or `host:port`. */
  at(text: string, scheme: 'http' | 'https'): HttpTarget | undefined {
    const authority = parseAuthority(text)
    if (authority === undefined) return undefined
    const address = `${authority.host.toLowerCase()}:${authority.port ?? defaultPort(scheme)}`
    const known = this.#known.get(address)
    if (known) return known
    const parsed = parseHostPort(address)
    if (typeof parsed === 'string') return undefined
    const at = new HttpTarget(parsed, this.#ctx.settings, { permits: this.#permits, guard: this.#guard })
    if (this.#known.size >= MAX_KNOWN) this.#known.clear()
    this.#known.set(address, at)
    return at
  }
}

function badDestination(x: Exchange, computed: boolean): GatewayError {
  if (computed)
    return new GatewayError('processingFailed', { detail: 'the target expression does not evaluate to host:port' })
  if (x.request.authority === '') return new GatewayError('processingFailed', { detail: 'no authority or host' })
  return new GatewayError('invalidRequest')
}

import type { CostCatalog } from '../../http/exchange.ts'
import { ipVersion } from '../../http/ip-version.ts'
import type { Target } from '../../http/transport.ts'
import type { BodyEdit, FinalEdit } from '../../llm/body-edit.ts'
import type { CachePoints } from '../../llm/formats/converse/cache-points.ts'
import { pathOf } from '../../llm/formats/format.ts'
import { pathFor } from '../../llm/formats/generate-content/address.ts'
import { ItemMemory } from '../../llm/formats/responses/item-memory.ts'
import type { WireFormat } from '../../llm/formats/target-format.ts'
import { type Guards, guardsOf } from '../../llm/guards/guard.ts'
import type { LlmPolicy } from '../../llm/llm-policy.ts'
import type { UpstreamSettings } from '../../policies/policy.ts'
import type { HostPort } from '../../schema/scalars.ts'
import type { BackendContext } from '../backend.ts'
import { connectionKey, connectionOf } from '../http-target.ts'
import type { Wire, WireCall, WireFormats } from './providers/provider.ts'

/** Bytes of a request body that is buffered (spec "Limits", buffer default). */
export const BODY_LIMIT = 2 * 1024 * 1024

/** A provider at an address: all that a call needs, resolved when the configuration is loaded. */
export interface ProviderTarget {
  /** `gen_ai.provider.name`. */
  readonly provider: string
  readonly wire: Wire
  readonly target: Target
  /** Overrides `target` for formats that the provider serves on a separate host. */
  readonly elsewhere: Readonly<Partial<Record<WireFormat, Target>>>
  /** Timeout in ms until the response head. Undefined for the route's. */
  readonly timeout: number | undefined
  /** Replaces any credential of the client. */
  readonly key: string | undefined
  /** The gateway authenticates: client credentials are not forwarded. */
  readonly replacesCredentials: boolean
  /** Calls carry a configured credential. */
  readonly authenticated: boolean
  /** Field defaults, overrides and transformations. */
  readonly edit: BodyEdit | undefined
  /** The model's computed fields, applied after those of the `ai` policy. */
  readonly final: FinalEdit | undefined
  readonly caching: CachePoints | undefined
  readonly prices: CostCatalog | undefined
  /** Conversation items sent to clients of the responses format. */
  readonly items: ItemMemory
  /** The `ai` policy. */
  readonly policy: LlmPolicy | undefined
  /** Guards on requests and responses. Undefined for none. */
  readonly guards: Guards | undefined
  /** Count input tokens before the call, for token limits. */
  readonly tokenize: boolean
  /** The upstream path for a format. Undefined for the client's own path, behind a configured prefix. */
  upstreamPath(format: WireFormat | undefined, clientPath: string, about: PathCall): string
}

export interface PathCall extends WireCall {
  /** The client speaks another format, so its path means nothing to the provider. */
  readonly converted: boolean
}

export interface ProviderAddress {
  readonly hostOverride?: HostPort
  readonly pathOverride?: string
  readonly pathPrefix?: string
}

/** The compile context shared by all providers of a backend. */
export interface AiContext extends BackendContext {
  readonly items: ItemMemory
}

export function aiContext(ctx: BackendContext): AiContext {
  return { ...ctx, items: ctx.state('items', () => new ItemMemory()) }
}

export interface ProviderTargetInit {
  /** Names of the provider entry or the model, and of the provider kind. */
  readonly names: readonly string[]
  readonly provider: string
  readonly wire: Wire
  readonly address: ProviderAddress
  readonly settings: UpstreamSettings
  readonly key: string | undefined
  readonly edit?: BodyEdit | undefined
  readonly final?: FinalEdit | undefined
  readonly caching?: CachePoints | undefined
  readonly tokenize?: boolean | undefined
  /** `hostOverride` came from an `https` URL. */
  readonly secure?: boolean | undefined
  /** The context for the provider's own credentials. */
  readonly ctx: AiContext
}

/** Undefined if the provider has no default address and none is configured. */
export function providerTarget(init: ProviderTargetInit): ProviderTarget | undefined {
  const { wire, address, settings } = init
  const own = wire.host === undefined ? undefined : { host: wire.host, port: 443 }
  const at: HostPort | undefined = address.hostOverride ?? own
  if (at === undefined) return undefined
  const tls = settings.tls ?? (address.hostOverride === undefined || init.secure ? {} : undefined)
  const sign = settings.sign ?? (init.key === undefined && !settings.authenticated ? wire.sign?.(init.ctx) : undefined)
  const connection: UpstreamSettings = { ...settings, ...(tls ? { tls } : {}), ...(sign ? { sign } : {}) }
  const targetAt = (at: HostPort): Target => ({
    key: JSON.stringify(['ai', at.unixPath ?? at.host, at.port, connectionKey(connection)]),
    host: at.host,
    port: at.port,
    ...(at.unixPath === undefined ? {} : { unixPath: at.unixPath }),
    ...connectionOf(connection),
    ...(wire.signedAs ? { signedAs: wire.signedAs } : {}),
    named: ipVersion(at.host) === 0 && at.unixPath === undefined,
    part: { kind: 'llm', names: init.names },
  })
  // A configured address replaces all of them.
  const hosts = Object.entries(address.hostOverride === undefined ? (wire.hosts ?? {}) : {})
  return {
    provider: init.provider,
    wire,
    target: targetAt(at),
    elsewhere: Object.fromEntries(hosts.map(([format, host]) => [format, targetAt({ host, port: 443 })])),
    timeout: settings.requestTimeout,
    key: init.key,
    replacesCredentials: init.key !== undefined || (sign !== undefined && !settings.authenticated),
    authenticated: init.key !== undefined || sign !== undefined || settings.authenticated === true,
    edit: init.edit,
    final: init.final,
    caching: init.caching ?? settings.llm?.caching,
    prices: init.ctx.prices,
    items: init.ctx.items,
    policy: settings.llm,
    guards: settings.guards && guardsOf(settings.guards),
    tokenize: init.tokenize === true,
    upstreamPath: pathRule(wire, address),
  }
}

/** The rules of path selection in order, one per line. */
function pathRule(wire: Wire, address: ProviderAddress): ProviderTarget['upstreamPath'] {
  const { pathOverride, pathPrefix, hostOverride } = address
  if (pathOverride !== undefined) return () => pathOverride
  const prefix = pathPrefix?.replace(/\/$/, '')
  const keepsClientPath = hostOverride !== undefined && prefix === undefined && wire.host !== undefined
  const base = prefix ?? wire.basePath
  return (format, clientPath, call) => {
    if (format === undefined) return prefix === undefined ? clientPath : prefixed(wire, prefix, clientPath)
    const { formats } = wire.family?.(call.model) ?? wire
    const inPath = format in IN_PATH || format === 'converse'
    if (keepsClientPath && !call.converted && !inPath) return clientPath
    return withQuery(pathAt(format, formats, base, call), clientPath, call.converted || inPath)
  }
}

/** Formats whose path contains the model, which the gateway may have changed. */
const IN_PATH = { generateContent: 'generate', geminiCountTokens: 'count' } as const

function pathAt(format: WireFormat, formats: WireFormats, base: string, call: WireCall): string {
  const own = formats[format]
  if (typeof own === 'function') return own(base, call)
  if (own !== undefined || format === 'converse') return own ?? base
  if (format === 'generateContent' || format === 'geminiCountTokens') return base + pathFor(IN_PATH[format], call)
  return base + pathOf(format)
}

/** `foreign`: query parameters that Google and Anthropic clients send are meaningless to other providers. */
function withQuery(path: string, clientPath: string, foreign: boolean): string {
  const at = clientPath.indexOf('?')
  if (at < 0) return path
  const given = clientPath.slice(at + 1).split('&')
  const kept = foreign ? given.filter(pair => !/^(?:alt|beta|key|\$alt)(?:=|$)/.test(pair)) : given
  if (kept.length === 0) return path
  return `${path}${path.includes('?') ? '&' : '?'}${kept.join('&')}`
}

function prefixed(wire: Wire, prefix: string, clientPath: string): string {
  if (wire.prefixReplacesBase && /^\/v1(?=[/?]|$)/.test(clientPath)) return prefix + clientPath.slice(3)
  return prefix + clientPath
}

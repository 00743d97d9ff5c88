import { isIP } from 'node:net'
import type { Target } from '../../http/transport.ts'
import type { BodyEdit } from '../../llm/body-edit.ts'
import { FORMAT_PATHS, type FormatName } from '../../llm/formats/format.ts'
import type { UpstreamSettings } from '../../policies/policy.ts'
import type { HostPort } from '../../schema/scalars.ts'
import { connectionKey, connectionOf } from '../http-target.ts'
import type { Wire } from './providers/provider.ts'

/** A provider at an address: all that a call needs, decided when the configuration is loaded. */
export interface ProviderTarget {
  /** `gen_ai.provider.name`. */
  readonly provider: string
  readonly wire: Wire
  readonly target: Target
  /** ms until the response head; undefined: the route's. */
  readonly timeout: number | undefined
  /** Replaces whatever credential the client sent. */
  readonly key: string | undefined
  /** Field defaults, overrides and transformations. */
  readonly edit: BodyEdit | undefined
  /** The upstream path for a format, or undefined where the client's own path is kept. */
  upstreamPath(format: FormatName | undefined, clientPath: string): string
}

export interface ProviderAddress {
  readonly hostOverride?: HostPort
  readonly pathOverride?: string
  readonly pathPrefix?: string
}

export interface ProviderTargetInit {
  /** Of the provider's entry or of the model, and of the provider in the file. */
  readonly names: readonly string[]
  readonly provider: string
  readonly wire: Wire
  readonly address: ProviderAddress
  readonly settings: UpstreamSettings
  readonly key: string | undefined
  readonly edit?: BodyEdit | undefined
  /** `hostOverride` came from an `https` URL. */
  readonly secure?: boolean | undefined
}

/** Undefined: the provider has no address of its own and none was given. */
export function providerTarget(init: ProviderTargetInit): ProviderTarget | undefined {
  const { wire, address, settings } = init
  const own = wire.host === undefined ? undefined : { host: wire.host, port: 443 }
  const at: HostPort | undefined = address.hostOverride ?? own
  if (at === undefined) return undefined
  const tls = settings.tls ?? (address.hostOverride === undefined || init.secure ? {} : undefined)
  const connection: UpstreamSettings = tls ? { ...settings, tls } : settings
  return {
    provider: init.provider,
    wire,
    target: {
      key: JSON.stringify(['ai', at.unixPath ?? at.host, at.port, connectionKey(connection)]),
      host: at.host,
      port: at.port,
      ...(at.unixPath === undefined ? {} : { unixPath: at.unixPath }),
      ...connectionOf(connection),
      named: isIP(at.host) === 0 && at.unixPath === undefined,
      part: { kind: 'llm', names: init.names },
    },
    timeout: settings.requestTimeout,
    key: init.key,
    edit: init.edit,
    upstreamPath: pathRule(wire, address),
  }
}

/** The rules of path choice in order; each line is one of them. */
function pathRule(wire: Wire, address: ProviderAddress): ProviderTarget['upstreamPath'] {
  const { pathOverride, pathPrefix, hostOverride } = address
  if (pathOverride !== undefined) return () => pathOverride
  const prefix = pathPrefix?.replace(/\/$/, '')
  const keepsClientPath = hostOverride !== undefined && prefix === undefined && wire.host !== undefined
  const base = prefix ?? wire.basePath
  return (format, clientPath) => {
    if (format === undefined) return prefix === undefined ? clientPath : prefixed(wire, prefix, clientPath)
    if (keepsClientPath) return clientPath
    const query = clientPath.indexOf('?')
    const path = wire.formats[format] ?? base + FORMAT_PATHS[format]
    return query < 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${clientPath.slice(query + 1)}`
  }
}

function prefixed(wire: Wire, prefix: string, clientPath: string): string {
  if (wire.prefixReplacesBase && /^\/v1(?=[/?]|$)/.test(clientPath)) return prefix + clientPath.slice(3)
  return prefix + clientPath
}

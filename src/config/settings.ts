import { parseListenAddress } from '../http/listen-address.ts'
import type { KeepAlive } from '../http/transport.ts'
import { logFilterProblem } from '../runtime/log-filter.ts'
import { MAX_WORKERS, parseWorkers } from '../runtime/workers.ts'
import { decode } from '../schema/decode.ts'
import { probesOf } from '../schema/keepalives.ts'
import { formatDuration, parseDuration } from '../schema/scalars.ts'
import { type ConfigSection, configSection, LOOKUP_FAMILIES, type LookupFamily } from './standalone/config-section.ts'

/** Process settings: the file's `config`, overridden by the environment, over the defaults. */
export interface Settings {
  /** Parsed by `parseListenAddress`, as are the next two. */
  readonly adminAddr: string
  readonly statsAddr: string
  readonly readinessAddr: string
  readonly logging: { readonly filter: string; readonly format: 'text' | 'json' }
  /** Minimum time in ms that a graceful stop keeps accepting. */
  readonly terminationMin: number
  /** Maximum time in ms that a graceful stop waits for requests in flight. */
  readonly terminationMax: number
  readonly connectTimeout: number
  readonly keepAlive: KeepAlive | false
  readonly poolIdleTimeout: number
  readonly poolMaxSize: number | undefined
  readonly lookupFamily: LookupFamily
  /** ms. */
  readonly mcpSessionTtl: number
  readonly sessionKey: string | undefined
  readonly sensitiveHeaders: readonly string[]
  /** Functions for expressions, as written. */
  readonly functions: string
  readonly workers: number | string | undefined
  readonly ipv6: boolean | undefined
}

type Env = Readonly<Record<string, string | undefined>>
/** A mistake in the environment, in words. */
export type EnvProblem = { readonly variable: string; readonly message: string }

export function resolveSettings(
  written: ConfigSection | undefined,
  env: Env,
  problem: (p: EnvProblem) => void,
): Settings {
  const declared = declaredDefaults()
  const section = written ?? declared
  const { logging = declared.logging, backend = declared.backend, mcp = declared.mcp } = section
  const level = logging.level
  const grace = seconds(env, 'TERMINATION_GRACE_PERIOD_SECONDS', problem)
  return {
    adminAddr: address(env, 'ADMIN_ADDR', problem) ?? section.adminAddr,
    statsAddr: address(env, 'STATS_ADDR', problem) ?? section.statsAddr,
    readinessAddr: address(env, 'READINESS_ADDR', problem) ?? section.readinessAddr,
    logging: {
      filter: logFilter(env, 'RUST_LOG', problem) ?? ((typeof level === 'string' ? level : level?.join(',')) || 'info'),
      format: logging.format,
    },
    terminationMin:
      seconds(env, 'CONNECTION_MIN_TERMINATION_DEADLINE', problem) ?? section.connectionMinTerminationDeadline ?? 0,
    terminationMax:
      seconds(env, 'CONNECTION_TERMINATION_DEADLINE', problem) ??
      section.connectionTerminationDeadline ??
      (grace === undefined ? 5000 : Math.max(0, grace - 5000)),
    connectTimeout: backend.connectTimeout,
    keepAlive: probesOf(backend.keepalives),
    poolIdleTimeout: backend.poolIdleTimeout,
    poolMaxSize: backend.poolMaxSize,
    lookupFamily: lookupFamily(env, problem) ?? section.dns?.lookupFamily ?? 'Auto',
    mcpSessionTtl: mcp.sessionTtl,
    sessionKey: hexKey(env, 'SESSION_KEY', problem) ?? section.session?.key,
    sensitiveHeaders: section.sensitiveHeaders?.map(h => h.toLowerCase()) ?? [],
    functions: section.customFunctions ?? '',
    workers: workers(env, 'WORKER_THREADS', problem) ?? section.workerThreads ?? section.numWorkerThreads,
    ipv6: env.IPV6_ENABLED ? env.IPV6_ENABLED === 'true' : section.enableIpv6,
  }
}

/** The declared defaults of absent fields. */
function declaredDefaults() {
  const context = { report: () => {}, cel: undefined, patterns: undefined, missing: new Set<never>() }
  const given = { logging: {}, backend: {}, mcp: {} }
  return decode(configSection, given, [], context) as ConfigSection & Required<Pick<ConfigSection, keyof typeof given>>
}

/** Seconds as a bare number, as Kubernetes writes them, or a duration with its unit. */
function seconds(env: Env, variable: string, problem: (p: EnvProblem) => void): number | undefined {
  const text = env[variable]
  if (text === undefined || text === '') return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : parseDuration(text)
  if (ms === undefined)
    problem({
      variable,
      message: `\`${variable}\` must be a number of seconds or a duration such as ${formatDuration(30_000)}`,
    })
  return ms
}

function lookupFamily(env: Env, problem: (p: EnvProblem) => void): LookupFamily | undefined {
  const text = env.DNS_LOOKUP_FAMILY
  if (!text) return undefined
  const known = LOOKUP_FAMILIES.find(name => name.toLowerCase() === text.toLowerCase())
  if (known === undefined) {
    const message = `\`DNS_LOOKUP_FAMILY\` must be one of ${LOOKUP_FAMILIES.join(', ')}`
    problem({ variable: 'DNS_LOOKUP_FAMILY', message })
  }
  return known
}

function hexKey(env: Env, variable: string, problem: (p: EnvProblem) => void): string | undefined {
  const text = env[variable]
  if (text === undefined || text === '') return undefined
  if (/^[0-9a-f]{64}$/i.test(text)) return text
  problem({ variable, message: `\`${variable}\` must be 64 hexadecimal digits` })
  return undefined
}

function address(env: Env, variable: string, problem: (p: EnvProblem) => void): string | undefined {
  const text = env[variable]
  if (!text) return undefined
  if (parseListenAddress(text)) return text
  problem({ variable, message: `\`${variable}\` must be ip:port, localhost:port, unix:/path or off` })
  return undefined
}

function logFilter(env: Env, variable: string, problem: (p: EnvProblem) => void): string | undefined {
  const text = env[variable]
  if (!text) return undefined
  const wrong = logFilterProblem(text)
  if (wrong === undefined) return text
  problem({ variable, message: `\`${variable}\` cannot be read: ${wrong}` })
  return undefined
}

function workers(env: Env, variable: string, problem: (p: EnvProblem) => void): string | undefined {
  const text = env[variable]
  if (!text) return undefined
  if (parseWorkers(text)) return text
  const message = `\`${variable}\` must be a number from 1 to ${MAX_WORKERS}, or a share of the processors such as 50%`
  problem({ variable, message })
  return undefined
}

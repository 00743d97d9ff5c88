import { callWhole } from '../calls/dispatch.ts'
import { urlTarget } from '../calls/url-callee.ts'
import type { Finding, Path } from '../diagnostics/diagnostic.ts'
import { HeaderList } from '../http/headers.ts'
import type { Target, TlsOptions } from '../http/transport.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type KeySet, NO_KEYS, parseKeySet } from './key-set.ts'

/** The source of the keys; `cacheDuration` in ms. */
export type JwksSource =
  | { readonly inline: string }
  | { readonly file: string }
  | { readonly url: URL; readonly cacheDuration: number; readonly tls: TlsOptions | undefined }

/** What opening a key source needs from a policy's compile context. */
export interface KeySourceContext {
  readonly runtime: Runtime
  report(finding: Finding): void
  readFile(file: string, at: Path): Buffer | undefined
  state<T extends object>(name: string, make: () => T): T
}

/** The current keys. A remote source fetches them on first use and when they expire. */
export interface KeySource {
  keys(): KeySet
  /** ms that a verification may be cached; undefined: as long as the token itself is valid. */
  readonly trustedFor: number | undefined
  /** Resolves when `keys` is up to date; undefined if it already is. `unknownKey`: a token refers to a missing key. */
  refresh(unknownKey: boolean): Promise<void> | undefined
}

export const NO_KEY_SOURCE: KeySource = { keys: () => NO_KEYS, trustedFor: undefined, refresh: () => undefined }

/** `path`: of the key set relative to the policy's spec, for findings. */
export function openKeySource(source: JwksSource, path: Path, ctx: KeySourceContext): KeySource {
  if ('url' in source) {
    const { url, cacheDuration, tls } = source
    return fetchedKeys(url.href, () => url, cacheDuration, ctx, tls)
  }
  const text = 'inline' in source ? source.inline : ctx.readFile(source.file, [...path, 'file'])?.toString('utf8')
  const { keys, problems } = text === undefined ? { keys: NO_KEYS, problems: [] } : parseKeySet(text)
  const place = 'inline' in source ? path : [...path, 'file']
  const code = 'inline' in source ? 'GW106' : 'GW207'
  for (const message of problems) ctx.report({ code, message, path: place, at: 'value' })
  return { keys: () => keys, trustedFor: undefined, refresh: () => undefined }
}

/** Keys fetched from the result of `find`; `name` identifies their state. */
export function fetchedKeys(
  name: string,
  find: () => URL | Promise<URL>,
  cacheDuration: number,
  { state, runtime }: Pick<KeySourceContext, 'state' | 'runtime'>,
  tls?: TlsOptions,
): KeySource {
  const held = state(`jwks ${name}`, () => new RemoteKeys())
  const ask = async (): Promise<Asked> => {
    const from = await find()
    return { from, target: urlTarget(from, tls) }
  }
  return {
    keys: () => held.keys,
    trustedFor: cacheDuration,
    refresh: unknownKey => held.refresh(ask, cacheDuration, unknownKey, runtime),
  }
}

/**
 * The same source with additional keys that are available at once; its own are fetched only for tokens that need them.
 */
export function withKeys(source: KeySource, jwks: string): KeySource {
  const { keys: more } = parseKeySet(jwks)
  return {
    keys: () => new Map([...source.keys(), ...more]),
    trustedFor: source.trustedFor,
    refresh: unknownKey => (unknownKey ? source.refresh(true) : undefined),
  }
}

/** Minimum ms between fetches for unknown keys: clients choose the key ids in their tokens. */
const PAUSE = 10_000
/** bytes. */
const MAX_KEY_SET = 1024 * 1024

interface Asked {
  readonly from: URL
  readonly target: Target
}

class RemoteKeys {
  keys: KeySet = NO_KEYS
  #loaded = false
  #askedAt = Number.NEGATIVE_INFINITY
  #pending: Promise<void> | undefined

  refresh(
    ask: () => Promise<Asked>,
    cacheDuration: number,
    unknownKey: boolean,
    runtime: Runtime,
  ): Promise<void> | undefined {
    const age = runtime.clock.mono() - this.#askedAt
    const due = unknownKey || !this.#loaded ? age >= PAUSE : age >= cacheDuration
    if (due && this.#pending === undefined) {
      this.#askedAt = runtime.clock.mono()
      this.#pending = this.#fetch(ask, runtime).finally(() => {
        this.#pending = undefined
      })
    }
    return unknownKey || !this.#loaded ? this.#pending : undefined
  }

  /** A failure keeps the current keys. */
  async #fetch(ask: () => Promise<Asked>, runtime: Runtime): Promise<void> {
    let from: URL | undefined
    try {
      const asked = await ask()
      from = asked.from
      const request = { method: 'GET', path: from.pathname + from.search, authority: from.host }
      const headers = new HeaderList(['accept', 'application/json'])
      const reply = await callWhole(runtime, asked.target, { ...request, headers, body: undefined }, MAX_KEY_SET)
      if (reply.status !== 200) throw new Error(`status ${reply.status}`)
      const { keys, problems } = parseKeySet(reply.body.toString('utf8'))
      for (const problem of problems) runtime.log.log('warn', 'key set', { url: shown(from), problem })
      if (keys.size === 0 && problems.length > 0) throw new Error('no usable key')
      this.keys = keys
      this.#loaded = true
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown'
      runtime.log.log('warn', 'key set cannot be fetched', { url: from ? shown(from) : '', reason })
    }
  }
}

/** Without user, password and query, which may be secret. */
function shown(address: URL): string {
  return address.origin + address.pathname
}

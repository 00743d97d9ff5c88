import type { Readable } from 'node:stream'
import type { CallPurpose } from '../trace/span.ts'
import type { Exchange } from './exchange.ts'
import type { HeaderList } from './headers.ts'

/** Receives a body as it comes. After `end` or `fail` nothing more is called. */
export interface ChunkSink {
  /**
   * False: the receiver is full; the sender stops until `onDrain` runs. A receiver that has finished with the chunk's
   * memory, say after its own write has completed, may call `release` so that it is used again; it never has to.
   */
  write(chunk: Buffer, release?: () => void): boolean
  /** `trailers`: name, value, name, value. */
  end(trailers?: readonly string[]): void
  fail(error: Error): void
  /** Replaces the callback that runs when a full receiver has room again. */
  onDrain(then: () => void): void
}

/** Receives one response. Exactly one of `head` and `fail` is called, once. */
export interface ResponseHandler {
  /** Returns where the body goes; called synchronously, before the first chunk. */
  head(status: number, headers: HeaderList): ChunkSink
  /** The call ended before a response head: a GatewayError with its registered answer. */
  fail(error: Error): void
  /** The server switched protocols: from here on both ends are raw sockets. Absent: an upgrade is a failure. */
  upgrade?(status: number, headers: HeaderList, socket: import('node:stream').Duplex): void
}

/** `on` with another word on some of what it hears. A copy by spread would lose the methods of a class. */
export function handlerAround(on: ResponseHandler, own: Partial<ResponseHandler>): ResponseHandler {
  return {
    head: own.head ?? ((status, headers) => on.head(status, headers)),
    fail: own.fail ?? (error => on.fail(error)),
    ...(on.upgrade === undefined
      ? {}
      : { upgrade: own.upgrade ?? ((status, headers, socket) => on.upgrade?.(status, headers, socket)) }),
  }
}

/** When TCP probes whether the other end of an idle connection is still there. */
export interface KeepAlive {
  /** ms without traffic before the first probe; at least 1000, as is `interval`. */
  readonly time: number
  /** ms between probes. */
  readonly interval: number
  /** Probes without an answer after which the connection counts as dead. */
  readonly retries: number
}
/** What `config.backend.keepalives` says by default. */
export const KEEP_ALIVE: KeepAlive = { time: 180_000, interval: 180_000, retries: 9 }

export interface TlsOptions {
  /** Server name sent and verified; the host when unset. */
  readonly servername?: string
  /** PEM. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  /** `All`: the certificate is not verified. `Hostname`: its chain is, its name is not. */
  readonly insecureSkipVerify?: 'All' | 'Hostname'
  readonly subjectAltNames?: readonly string[]
  readonly alpn?: readonly string[]
  readonly groups?: readonly string[]
}

/** A place that can be called. Equal `key`s share connections. */
export interface Target {
  readonly key: string
  readonly host: string
  /** 0 for a Unix socket. */
  readonly port: number
  readonly unixPath?: string
  /** A port of this gateway: requests that come back are counted. */
  readonly returns?: true
  readonly tls?: TlsOptions
  /** ms. */
  readonly connectTimeout: number
  /** HTTP version to speak; unset: 1.1, or what ALPN agrees on. */
  readonly version?: '1.1' | '2'
  /** Unset: `KEEP_ALIVE`; false: no probes. */
  readonly keepAlive?: KeepAlive | false
  /** The HTTP CONNECT proxy that connections go through. */
  readonly tunnel?: Tunnel
  /** The last word on each request, its authority and credential; may reject with a GatewayError. Gets this target. */
  readonly sign?: (request: UpstreamRequest, target: Target) => Promise<UpstreamRequest>
  /** Asked for each address that `host` stands for, at every connection; false refuses it. */
  readonly permits?: (address: string) => boolean
  /** True when `host` is a DNS name, which then becomes the request's authority unless a policy fixed that. */
  readonly named: boolean
  /** Set where only a part of a backend is called. */
  readonly part?: BackendPart
}

/** An MCP target, an API that stands for one, or an LLM provider or model. */
export interface BackendPart {
  readonly kind: 'mcp' | 'api' | 'llm'
  /** What the configuration calls it, the most precise name first. */
  readonly names: readonly string[]
}

/** An HTTP CONNECT proxy. Equal `key`s are the same proxy, asked in the same way. */
export interface Tunnel {
  readonly key: string
  /** Where the next connection to it goes. Throws GatewayError when it has no address at the moment. */
  proxy(): Target
  /** Fields of the CONNECT request: name, value, name, value. Rejects with a GatewayError. */
  fields(): readonly string[] | Promise<readonly string[]>
}

export interface UpstreamRequest {
  readonly method: string
  readonly path: string
  readonly authority: string
  readonly headers: HeaderList
  readonly body: Buffer | Readable | undefined
  /** ms until the response head, counted from the call; 0 or unset: none. */
  readonly timeout?: number
  /** Forwarded as an upgrade (WebSocket). */
  readonly upgrade?: string
  /** The client itself has asked for a tunnel; without this a CONNECT fails, whoever has written the method. */
  readonly tunnel?: boolean
  /** What the call is for; unset: the gateway itself. */
  readonly purpose?: CallPurpose | undefined
  /** Whom `sign` signs for; unset: the gateway itself. Its trace is told of calls that have to be made first. */
  readonly signedFor?: Exchange
}

/** The one way out of the gateway. `cancel` ends the call; the handler hears nothing more. */
export interface Transport {
  dispatch(target: Target, request: UpstreamRequest, on: ResponseHandler): { cancel(): void }
  close(): Promise<void>
}

/** Drains nothing and keeps nothing: where the body of a response goes that nobody wants. */
export const discard: ChunkSink = {
  write: () => true,
  end: () => {},
  fail: () => {},
  onDrain: () => {},
}

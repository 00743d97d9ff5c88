import type { Readable } from 'node:stream'
import type { CallPurpose } from '../trace/span.ts'
import type { Exchange } from './exchange.ts'
import type { HeaderList } from './headers.ts'

/** Receives a body as it arrives. Nothing is called after `end` or `fail`. */
export interface ChunkSink {
  /**
   * False if the receiver is full; the sender then pauses until `onDrain` runs. A receiver that is done with the
   * chunk's memory, say after its own write has completed, may call `release` so that it can be reused; this is
   * optional.
   */
  write(chunk: Buffer, release?: () => void): boolean
  /** `trailers`: name, value, name, value. */
  end(trailers?: readonly string[]): void
  fail(error: Error): void
  /** Replaces the callback that runs when a full receiver has capacity again. */
  onDrain(then: () => void): void
}

/** Receives one response. Exactly one of `head` and `fail` is called, once. */
export interface ResponseHandler {
  /** Returns the sink for the body; called synchronously, before the first chunk. */
  head(status: number, headers: HeaderList): ChunkSink
  /** The call ended before a response head: a GatewayError with its registered response. */
  fail(error: Error): void
  /** The server switched protocols: both ends are raw sockets from here on. If absent, an upgrade is a failure. */
  upgrade?(status: number, headers: HeaderList, socket: import('node:stream').Duplex): void
}

/** `on` with some methods overridden. A spread copy would lose the methods of a class. */
export function handlerAround(on: ResponseHandler, own: Partial<ResponseHandler>): ResponseHandler {
  return {
    head: own.head ?? ((status, headers) => on.head(status, headers)),
    fail: own.fail ?? (error => on.fail(error)),
    ...(on.upgrade === undefined
      ? {}
      : { upgrade: own.upgrade ?? ((status, headers, socket) => on.upgrade?.(status, headers, socket)) }),
  }
}

/** TCP keep-alive probes on an idle connection. */
export interface KeepAlive {
  /** Idle ms before the first probe; at least 1000, like `interval`. */
  readonly time: number
  /** ms between probes. */
  readonly interval: number
  /** Unanswered probes after which the connection is considered dead. */
  readonly retries: number
}
/** The default of `config.backend.keepalives`. */
export const KEEP_ALIVE: KeepAlive = { time: 180_000, interval: 180_000, retries: 9 }

export interface TlsOptions {
  /** Server name for SNI and verification; the host if unset. */
  readonly servername?: string
  /** PEM. */
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  /** `All`: the certificate is not verified. `Hostname`: its chain is verified, its name is not. */
  readonly insecureSkipVerify?: 'All' | 'Hostname'
  readonly subjectAltNames?: readonly string[]
  readonly alpn?: readonly string[]
  readonly groups?: readonly string[]
}

/** What a signature is for. */
export interface AwsScope {
  readonly service: string
  readonly region: string
}

/** A callable address. Targets with equal `key`s share connections. */
export interface Target {
  readonly key: string
  readonly host: string
  /** 0 for a Unix socket. */
  readonly port: number
  readonly unixPath?: string
  /** A port of this gateway: hops are counted to detect loops. */
  readonly returns?: true
  readonly tls?: TlsOptions
  /** ms. */
  readonly connectTimeout: number
  /** HTTP version to use; if unset, 1.1 or the result of ALPN. */
  readonly version?: '1.1' | '2'
  /** `KEEP_ALIVE` if unset; false disables probes. */
  readonly keepAlive?: KeepAlive | false
  /** The HTTP CONNECT proxy to connect through. */
  readonly tunnel?: Tunnel
  /** Finalizes each request, its authority and credential; receives this target. May reject with a GatewayError. */
  readonly sign?: (request: UpstreamRequest, target: Target) => Promise<UpstreamRequest>
  /** What it is signed for at AWS, where the host does not tell. */
  readonly signedAs?: AwsScope
  /** Called for each address that `host` resolves to, at every connection; false rejects it. */
  readonly permits?: (address: string) => boolean
  /** True if `host` is a DNS name, which then becomes the request's authority unless a policy has set one. */
  readonly named: boolean
  /** Set if only part of a backend is called. */
  readonly part?: BackendPart
}

/** An MCP target, an API exposed as one, or an LLM provider or model. */
export interface BackendPart {
  readonly kind: 'mcp' | 'api' | 'llm'
  /** Its names in the configuration, the most specific first. */
  readonly names: readonly string[]
}

/** An HTTP CONNECT proxy. Equal `key`s mean the same proxy with the same credentials. */
export interface Tunnel {
  readonly key: string
  /** The address of the next connection to it. Throws GatewayError if none is available. */
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
  /** ms until the response head, from the start of the call; 0 or unset for none. */
  readonly timeout?: number
  /** Forwarded as an upgrade (WebSocket). */
  readonly upgrade?: string
  /** The client itself requested a tunnel; without this a CONNECT fails, whatever set the method. */
  readonly tunnel?: boolean
  /** The purpose of the call; unset for the gateway's own. */
  readonly purpose?: CallPurpose | undefined
  /** The exchange that `sign` signs for; unset for the gateway's own. Preliminary calls are recorded in its trace. */
  readonly signedFor?: Exchange
}

/** The only way out of the gateway. After `cancel`, the handler is not called again. */
export interface Transport {
  dispatch(target: Target, request: UpstreamRequest, on: ResponseHandler): { cancel(): void }
  close(): Promise<void>
}

/** Discards a response body. */
export const discard: ChunkSink = {
  write: () => true,
  end: () => {},
  fail: () => {},
  onDrain: () => {},
}

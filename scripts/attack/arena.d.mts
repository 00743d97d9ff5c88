import type { IncomingMessage, ServerResponse } from 'node:http'

export class Breach extends Error {}

/** What an attack works with. Everything that is started here is stopped when the attack is over. */
export interface Arena {
  /** Throws a Breach that says what was found instead. */
  holds(condition: unknown, found: string): asserts condition
  /** A free port of the loopback interface, for a second listener. */
  freePort(): Promise<number>
  /** The built `gwctl run` in a process of its own. `config`: what makes the text from the port to listen on. */
  start(config: (port: number) => string, options?: StartOptions): Promise<GatewayProcess>
  /** A plain HTTP/1 backend that keeps what reached it. Without a handler it answers 200 once the body has arrived. */
  backend(handler?: (req: IncomingMessage & { body: string }, res: ServerResponse) => void): Promise<Backend>
  /**
   * Sends bytes on one connection, and resolves to what came back (latin1) until the other side closed or was silent
   * for `quiet` ms (1,000).
   */
  raw(port: number, bytes: string | Buffer, options?: { readonly quiet?: number }): Promise<string>
  /** Runs the built `gwctl`; it is killed after `limit` ms (60,000), and `code` is then undefined. */
  cli(args: readonly string[], options?: CliOptions): Promise<CliResult>
  /** A temporary folder with these files, removed afterwards; its path. */
  folder(files?: Readonly<Record<string, string>>): string
}

export interface StartOptions {
  readonly workers?: number
  /** Name to content, beside `gateway.yaml`. */
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  /** More fields of `config`, in YAML flow style: `session: {key: …}`. */
  readonly settings?: string
}

export interface GatewayProcess {
  readonly pid: number
  /** The one that `config` was given. */
  readonly port: number
  /** `http://127.0.0.1:PORT` of the admin server, and of the one with `/metrics`. */
  readonly admin: string
  readonly stats: string
  /** What it has logged until now. */
  said(): string
  alive(): boolean
  /** ms of processor time that the process has used. Linux only. */
  cpu(): number
  /** Resident bytes. Linux only. */
  memory(): number
  /** How many are open in its process. */
  sockets(): number
  /** Replaces the configuration, which is loaded without a restart. Resolves when that is done or refused. */
  reload(config: (port: number) => string): Promise<void>
}

export interface Backend {
  readonly port: number
  /** `127.0.0.1:PORT`. */
  readonly host: string
  readonly requests: readonly {
    readonly method: string
    readonly url: string
    /** Names and values in turn, as they arrived. */
    readonly headers: readonly string[]
    readonly body: string
  }[]
}

export interface CliOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  readonly limit?: number
}

export interface CliResult {
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** `survived` throws a Breach when a gateway is no longer there. */
export function openArena(): Arena & { survived(): void; close(): Promise<void> }

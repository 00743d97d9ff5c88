import type { CheckReport } from '../../diagnostics/render/report.ts'
import type { Source } from '../../diagnostics/source.ts'
import type { LogSink } from '../../engine/logging.ts'
import type { InputText } from '../input/input-files.ts'

export interface ServeOptions {
  /** A file, a directory of resources, or - for stdin. */
  readonly file: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: NodeJS.ReadableStream
  readonly log: LogSink
  readonly version: string
  /** Reload when the file changes. */
  readonly watch: boolean
  /** Workers that share the ports; as in the file when unset. */
  readonly workers?: number | string
  /** Overrides the configured ports: tests pass `() => 0`. */
  readonly portFor?: (port: number) => number
  /** Receives the findings of a refused configuration, at start or on reload. */
  refused(report: CheckReport, reload: boolean): void
}

export interface RunningGateway {
  /** The addresses of the admin and stats servers, or `off`. */
  readonly admin: string
  readonly stats: string
  /** Open ports, by the configured one. */
  readonly ports: ReadonlyMap<number, number>
  /** Bytes of memory that bodies may take. Undefined if nothing buffers bodies. */
  readonly bodies: number | undefined
  /** The threads that share the ports; none if this one serves. To the others, ending one looks like a crash. */
  readonly workers: readonly { readonly index: number; readonly welcomed: boolean; end(): Promise<void> }[]
  /** Resolves on `/quitquitquit`. */
  readonly quit: Promise<void>
  stop(): Promise<void>
  /** Reloads the file now; false if it was refused and the old configuration stays. */
  reload(): Promise<boolean>
}

/** What a first look at the file found. */
export interface Probed {
  readonly inputs: readonly InputText[]
  /** The first of them. */
  readonly parsed: Source
}

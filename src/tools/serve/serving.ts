import type { CheckReport } from '../../diagnostics/render/report.ts'
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
  /** Workers that share the ports; what the file says when unset. */
  readonly workers?: number | string
  /** Opens another port than the configured one: tests pass `() => 0`. */
  readonly portFor?: (port: number) => number
  /** Findings of a configuration that is not served: at start, and of each reload that was refused. */
  refused(report: CheckReport, reload: boolean): void
}

export interface RunningGateway {
  /** Where the admin and the stats server listen, or `off`. */
  readonly admin: string
  readonly stats: string
  /** Open ports, by the configured one. */
  readonly ports: ReadonlyMap<number, number>
  /** bytes that bodies may take of memory; undefined: nothing in the file reads a body whole. */
  readonly bodies: number | undefined
  /** The threads that share the ports; none when this one serves. Ending one is to the others as if it had crashed. */
  readonly workers: readonly { readonly index: number; readonly welcomed: boolean; end(): Promise<void> }[]
  /** Asked for by `/quitquitquit`. */
  readonly quit: Promise<void>
  stop(): Promise<void>
  /** Reads the file again, now; false when it was refused and the old configuration stays. */
  reload(): Promise<boolean>
}

/** What the file was found to hold before anything starts. */
export interface Probed {
  readonly inputs: readonly InputText[]
}

import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { type ConcealText, textConcealer } from '../../cluster/conceal-text.ts'
import { isAsciiOnly } from '../../diagnostics/ascii.ts'
import { readRegularFile } from '../../files/read-file.ts'
import { createEventReader } from '../events/events.ts'
import type { Recording } from '../events/recording.ts'
import { eventCount } from '../events/steps.ts'
import { untilAborted, untilQuit } from '../terminal/leaving.ts'
import { showView, type Terminal } from '../terminal/view.tsx'
import { Actions } from './actions.ts'
import type { SourceReader } from './detail.ts'
import { partsReader } from './expression-parts.ts'
import { TraceSession } from './session.ts'

export interface InteractiveOptions {
  readonly terminal: Terminal
  /** Aborted with a Failure when the process should stop. */
  readonly signal: AbortSignal
  /** The exit code of a failure. */
  readonly codeOf: (error: unknown) => number
  /** The base directory of saved files and file names. */
  readonly cwd: string
  /** For the editor, and for configurations that requests are run on. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Shows a recording until the user quits; it stays readable after its end or failure. Always restores the terminal,
 * then throws the stream's failure, or a Failure `interrupted`.
 */
export async function browseRecording(recording: Recording, options: InteractiveOptions): Promise<void> {
  const session = new TraceSession(
    { text: `waiting for a request at ${recording.name}`, code: undefined },
    { source: sourceReader(options.cwd, await textConcealer({ resources: true })), parts: partsReader() },
    isAsciiOnly(options.env),
  )
  const view = showView(session, options.terminal)
  const actions = new Actions(session, {
    ...options,
    stdin: options.terminal.stdin,
    stdout: options.terminal.stdout,
    gateway: recording.host,
  })
  session.onAsked = asked => actions.perform(asked)
  let failure: unknown
  const pump = new Pump(recording, session)
  const pumped = pump.run().then(
    () => {
      const text = recording.link ? 'the limit is reached: no more is recorded' : 'the trace is complete'
      session.setStatus({ text: text + pump.unreadable, code: 0 })
    },
    (error: unknown) => {
      failure = error
      const text = error instanceof Error ? error.message : String(error)
      session.setStatus({ text, code: options.codeOf(error) })
      // Nothing to look at, so the error ends the view.
      if (session.current.trace.requests.length === 0) throw error
    },
  )
  try {
    await Promise.race([
      untilQuit(session),
      view.ended,
      untilAborted(options.signal),
      pumped.then(() => untilQuit(session)),
    ])
  } finally {
    recording.close()
    session.close()
    await view.close()
  }
  if (failure !== undefined) throw failure
}

/** Feeds events from a recording to the view, and reports the recording's status. */
class Pump {
  readonly #recording: Recording
  readonly #session: TraceSession
  #unreadable = 0
  #breaks = 0

  constructor(recording: Recording, session: TraceSession) {
    this.#recording = recording
    this.#session = session
  }

  async run(): Promise<void> {
    const { link, texts } = this.#recording
    if (link) link.onChange = () => this.#linkChanged(link.lost !== undefined)
    const reader = createEventReader()
    try {
      for await (const text of texts) {
        const event = reader.read(text)
        if (event === undefined) this.#unreadable++
        else this.#session.add(event)
        this.#say()
      }
    } finally {
      this.#session.breakOff()
    }
  }

  /** A note on unreadable events; empty if there were none. */
  get unreadable(): string {
    return this.#unreadable === 0 ? '' : `, ${eventCount(this.#unreadable)} unreadable`
  }

  #linkChanged(lost: boolean): void {
    if (lost) {
      this.#breaks++
      this.#session.breakOff()
    }
    this.#say()
  }

  #say(): void {
    const { link, name } = this.#recording
    const lost = link?.lost !== undefined
    const words = lost ? 'connection lost, waiting for the gateway at' : 'recording'
    const again = lost || this.#breaks === 0 ? '' : ` again, lost ${timesText(this.#breaks)}`
    const text = `${words} ${name}${again}${this.unreadable}`
    if (this.#session.current.status.text !== text) this.#session.setStatus({ text, code: undefined, lost })
  }
}

function timesText(times: number): string {
  return times === 1 ? 'once' : `${times} times`
}

/** Larger files are not configurations. */
const MAX_SOURCE = 16 * 1024 * 1024

/** Local configuration files, reread when they have changed. */
function sourceReader(cwd: string, conceal: ConcealText): SourceReader {
  const known = new Map<string, { readonly version: string; readonly lines: readonly string[] }>()
  return file => {
    try {
      const path = resolve(cwd, file)
      const about = statSync(path)
      if (!about.isFile() || about.size > MAX_SOURCE) return undefined
      const version = `${about.ino} ${about.size} ${about.mtimeMs}`
      const before = known.get(file)
      if (before?.version === version) return before.lines
      const lines = conceal(file, readRegularFile(path, MAX_SOURCE).toString('utf8')).split(/\r?\n/)
      known.set(file, { version, lines })
      return lines
    } catch {
      return undefined
    }
  }
}

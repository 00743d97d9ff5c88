import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { untilAborted, untilQuit } from '../terminal/leaving.ts'
import { showView, type Terminal } from '../terminal/view.tsx'
import { Actions } from './actions.ts'
import type { SourceReader } from './detail.ts'
import { createEventReader } from './events.ts'
import type { Recording } from './recording.ts'
import { TraceSession } from './session.ts'

export interface InteractiveOptions {
  readonly terminal: Terminal
  /** Aborted with a Failure when the process is asked to stop. */
  readonly signal: AbortSignal
  /** The exit code that a failure leads to. */
  readonly codeOf: (error: unknown) => number
  /** Where files are saved and names of files start. */
  readonly cwd: string
  /** For the editor, and for configurations that a request is run through. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Shows a recording until the user quits; what was recorded stays readable when it ends or breaks. Gives the terminal
 * back in every case, then throws what went wrong: the stream's failure, or a Failure `interrupted`.
 */
export async function browseRecording(recording: Recording, options: InteractiveOptions): Promise<void> {
  const session = new TraceSession(
    { text: `waiting for a request at ${recording.name}`, code: undefined },
    sourceReader(options.cwd),
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
  const pumped = pump(recording, session).then(
    () => session.setStatus({ text: 'the trace is complete', code: 0 }),
    (error: unknown) => {
      failure = error
      const text = error instanceof Error ? error.message : String(error)
      session.setStatus({ text, code: options.codeOf(error) })
      // Nothing to look at: say it and go.
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

async function pump(recording: Recording, session: TraceSession): Promise<void> {
  const reader = createEventReader()
  let unreadable = 0
  for await (const text of recording.texts) {
    const event = reader.read(text)
    if (event === undefined) unreadable++
    else session.add(event)
    const lost = unreadable === 0 ? '' : `, ${unreadable} events unreadable`
    const status = `recording ${recording.name}${lost}`
    if (session.current.status.text !== status) session.setStatus({ text: status, code: undefined })
  }
}

/** Larger files are no configuration. */
const MAX_SOURCE = 16 * 1024 * 1024

/** Files of the configuration as they are on this machine, each read once. */
function sourceReader(cwd: string): SourceReader {
  const known = new Map<string, readonly string[] | undefined>()
  const read = (file: string) => {
    try {
      const path = resolve(cwd, file)
      const about = statSync(path)
      return about.isFile() && about.size <= MAX_SOURCE ? readFileSync(path, 'utf8').split(/\r?\n/) : undefined
    } catch {
      return undefined
    }
  }
  return file => {
    if (!known.has(file)) known.set(file, read(file))
    return known.get(file)
  }
}

import { Failure } from '../../diagnostics/failure.ts'
import { printYaml } from '../../diagnostics/print-yaml.ts'
import { shownOf } from './browse.ts'
import { createEventReader } from './events.ts'
import type { Recording } from './recording.ts'
import { TraceSession } from './session.ts'
import { saveTestCase } from './test-case.ts'
import { showTrace, type Terminal } from './view.tsx'

export interface InteractiveOptions {
  readonly terminal: Terminal
  /** Aborted with a Failure when the process is asked to stop. */
  readonly signal: AbortSignal
  /** The exit code that a failure leads to. */
  readonly codeOf: (error: unknown) => number
  /** Where test cases are saved. */
  readonly cwd: string
}

/**
 * Shows a recording until the user quits; what was recorded stays readable when it ends or breaks. Gives the terminal
 * back in every case, then throws what went wrong: the stream's failure, or a Failure `interrupted`.
 */
export async function browseRecording(recording: Recording, options: InteractiveOptions): Promise<void> {
  const session = new TraceSession({ text: `waiting for a request at ${recording.name}`, code: undefined })
  const view = showTrace(session, options.terminal)
  session.onAsked = asked => {
    const { trace, browse } = session.current
    const { request, step } = shownOf(browse, trace)
    const say = (text: string) => session.setStatus({ text, code: session.current.status.code })
    if (asked === 'copy' && step !== undefined) {
      options.terminal.stdout.write(clipboardSequence(printYaml(step.event)))
      say(`event ${step.event.seq} copied`)
    }
    if (asked === 'save' && request !== undefined) {
      saveTestCase(request, options.cwd).then(
        file => say(`saved as ${file}`),
        (error: unknown) => say(`not saved: ${error instanceof Error ? error.message : String(error)}`),
      )
    }
  }
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
    await Promise.race([quit(session), view.ended, aborted(options.signal), pumped.then(() => quit(session))])
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

/** OSC 52, which reaches the clipboard of whoever sits at the terminal, also over SSH and through tmux. */
function clipboardSequence(text: string): string {
  return `\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`
}

function quit(session: TraceSession): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const asked = session.current.browse.quit
      if (asked === 'asked') resolve()
      if (asked === 'interrupted') reject(new Failure('interrupted', 'stopped by Ctrl-C'))
    }
    session.subscribe(look)
    look()
  })
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

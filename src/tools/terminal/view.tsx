import { Box, type Key, render, Text, useApp, useInput, useStdin, useWindowSize } from 'ink'
import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { Failure } from '../../diagnostics/failure.ts'
import type { Row, Tone } from './cells.ts'
import { type JobControl, Suspension } from './job-control.ts'
import type { KeyPress } from './keyboard.ts'
import type { Size } from './layout.ts'

export interface Terminal {
  readonly stdin: NodeJS.ReadableStream
  readonly stdout: NodeJS.WritableStream
  readonly colors: boolean
  /** Set if Ctrl-Z and the like should stop the process. */
  readonly job?: JobControl
}

/** What is drawn and handles the keys. Listeners are notified of every change. */
export interface Session {
  /** Replaced as a whole on every change. */
  readonly current: object
  readonly subscribe: (listener: () => void) => () => void
  /** One row fewer than the terminal has, each as wide as the terminal. */
  picture(size: Size): { readonly rows: readonly Row[] }
  press(key: KeyPress, size: Size): void
  /** Releases the terminal while `run` runs; set by the view. */
  suspend?: (run: () => Promise<void>) => Promise<void>
}

export interface View {
  /** Rejects if drawing failed or the terminal is gone; its state is restored in any case. */
  readonly ended: Promise<unknown>
  /** Releases the terminal; resolves when that is written. */
  close(): Promise<unknown>
}

/** Takes over the terminal until `close`. Requires a terminal on both streams. */
export function showView(session: Session, terminal: Terminal): View {
  const app = render(<SessionView session={session} colors={terminal.colors} job={terminal.job ?? NO_JOB} />, {
    stdin: terminal.stdin,
    stdout: terminal.stdout,
    alternateScreen: true,
    incrementalRendering: true,
    maxFps: 30,
    // Handled here: the exit code reports the interruption.
    exitOnCtrlC: false,
    // Nothing here writes to the console.
    patchConsole: false,
    // In an environment that looks like CI, Ink would only print once at the end.
    interactive: true,
  })
  const exited = app.waitUntilExit()
  return {
    ended: Promise.race([exited, closed(terminal)]),
    close() {
      app.unmount()
      return exited
    },
  }
}

/** If SIGHUP is ignored, as with nohup, nothing else reports a closed terminal. */
function closed({ stdin, stdout }: Terminal): Promise<never> {
  return new Promise((_, reject) => {
    stdin.once('end', () => {
      // Ink restores it, and each attempt would fail.
      Object.assign(stdin, { setRawMode: () => stdin })
      Object.assign(stdout, { write: discardOutput })
      reject(new Failure('terminated', 'the terminal was closed'))
    })
  })
}

function discardOutput(_: unknown, ...rest: readonly unknown[]): boolean {
  const done = rest.at(-1)
  if (typeof done === 'function') setImmediate(() => done())
  return true
}

const NO_JOB: JobControl = { stop: async () => {}, watch: () => () => {} }

interface SessionProps {
  readonly session: Session
  readonly colors: boolean
  readonly job: JobControl
}

function SessionView({ session, colors, job }: SessionProps) {
  const size = useWindowSize()
  useSyncExternalStore(session.subscribe, () => session.current)
  const { suspendTerminal } = useApp()
  const { stdin } = useStdin()
  const suspension = useMemo(
    () => new Suspension(job, run => suspendTerminal(() => unread(stdin).then(run))),
    [job, suspendTerminal, stdin],
  )
  useEffect(() => {
    session.suspend = run => suspension.giveAway(run)
    return suspension.watch()
  }, [session, suspension])
  useInput((input, key) => {
    if ((key.ctrl && input === 'z') || input === '\u001a') return void suspension.stop()
    for (const press of pressesOf(input, key)) session.press(press, size)
  })
  const { rows } = session.picture(size)
  return (
    <Box flexDirection="column">
      {rows.map((row, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line of the screen is its number
        <Line key={i} row={row} colors={colors} />
      ))}
    </Box>
  )
}

/** Ink releases the keyboard, but Node keeps reading it: the next owner of the terminal would miss the first keys. */
async function unread(stdin: NodeJS.ReadableStream): Promise<void> {
  // The removal of listeners, and then the pause itself, take effect in the next tick.
  await new Promise(setImmediate)
  stdin.pause()
  await new Promise(setImmediate)
}

function Line({ row, colors }: { readonly row: Row; readonly colors: boolean }) {
  return (
    <Text wrap="truncate">
      {row.map(({ text, tone }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: spans have no other identity than their place
        <Text key={i} {...(colors ? STYLES[tone] : {})}>
          {text}
        </Text>
      ))}
    </Text>
  )
}

/** Base colours and reverse video only: they are readable on every background. */
const STYLES: Readonly<Record<Tone, { color?: string; bold?: boolean; dimColor?: boolean; inverse?: boolean }>> = {
  plain: {},
  dim: { dimColor: true },
  bold: { bold: true },
  success: { color: 'green' },
  warn: { color: 'yellow' },
  error: { color: 'red' },
  info: { color: 'cyan' },
  cursor: { inverse: true },
}

const NAMED = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageUp', 'pageUp'],
  ['pageDown', 'pageDown'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['escape', 'escape'],
  ['backspace', 'backspace'],
  ['delete', 'backspace'],
] as const satisfies readonly (readonly [keyof Key, KeyPress['name']])[]

/** Keys typed faster than they are read arrive as one text. */
function pressesOf(input: string, key: Key): readonly KeyPress[] {
  if (key.ctrl) return input === 'c' ? [{ name: 'interrupt', text: '' }] : []
  if (key.tab) return [{ name: key.shift ? 'shiftTab' : 'tab', text: '' }]
  const named = NAMED.find(([flag]) => key[flag])
  if (named !== undefined) return [{ name: named[1], text: '' }]
  if (key.meta) return []
  return [...input].flatMap(pressOf)
}

function pressOf(char: string): readonly KeyPress[] {
  if (char === '\r' || char === '\n') return [{ name: 'enter', text: '' }]
  // Keys typed quickly arrive together.
  if (char === '\t') return [{ name: 'tab', text: '' }]
  if (char === '\u0003') return [{ name: 'interrupt', text: '' }]
  return char < ' ' ? [] : [{ name: 'text', text: char }]
}

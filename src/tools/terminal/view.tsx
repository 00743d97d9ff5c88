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
  /** Where Ctrl-Z and the like are to stop the process. */
  readonly job?: JobControl
}

/** What is drawn and who answers the keys. Listeners are told whenever the picture is another one. */
export interface Session {
  /** Replaced as a whole whenever something changes. */
  readonly current: object
  readonly subscribe: (listener: () => void) => () => void
  /** One row fewer than the terminal has, each as wide as the terminal. */
  picture(size: Size): { readonly rows: readonly Row[] }
  press(key: KeyPress, size: Size): void
  /** Gives the terminal away while `run` does; set by the view. */
  suspend?: (run: () => Promise<void>) => Promise<void>
}

export interface View {
  /** Rejects when drawing failed, or when there is no terminal any more; it is as it was before in any case. */
  readonly ended: Promise<unknown>
  /** Gives the terminal back; resolves when that is written. */
  close(): Promise<unknown>
}

/** Takes over the terminal until `close`. Needs a terminal on both streams. */
export function showView(session: Session, terminal: Terminal): View {
  const app = render(<SessionView session={session} colors={terminal.colors} job={terminal.job ?? NO_JOB} />, {
    stdin: terminal.stdin,
    stdout: terminal.stdout,
    alternateScreen: true,
    incrementalRendering: true,
    maxFps: 30,
    // Ours to answer: the exit code says that the user broke off.
    exitOnCtrlC: false,
    // Nothing here writes to the console.
    patchConsole: false,
    // Ink would fall back to printing once at the end where it takes the environment for CI.
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

/** Where SIGHUP is ignored, as with nohup, nothing else tells that a terminal was closed. */
function closed({ stdin, stdout }: Terminal): Promise<never> {
  return new Promise((_, reject) => {
    stdin.once('end', () => {
      // Ink leaves it as it was, and each of that would fail.
      Object.assign(stdin, { setRawMode: () => stdin })
      Object.assign(stdout, { write: toNobody })
      reject(new Failure('terminated', 'the terminal was closed'))
    })
  })
}

function toNobody(_: unknown, ...rest: readonly unknown[]): boolean {
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

/** Ink lets go of the keyboard, but Node goes on reading it: whoever has the terminal next would miss its first keys. */
async function unread(stdin: NodeJS.ReadableStream): Promise<void> {
  // That nobody listens any more, and then the pause itself, take effect in the next round.
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

/** Keys that were typed faster than they are read come as one text. */
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
  // Keys that are typed fast come in one piece.
  if (char === '\t') return [{ name: 'tab', text: '' }]
  if (char === '\u0003') return [{ name: 'interrupt', text: '' }]
  return char < ' ' ? [] : [{ name: 'text', text: char }]
}

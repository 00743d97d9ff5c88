import type { KeyName, KeyPress } from '../terminal/keyboard.ts'
import type { Move } from '../terminal/moves.ts'

/** The effect of a key. */
export type Command =
  | Move
  | 'nextSection'
  | 'previousSection'
  | 'all'
  | 'routes'
  | 'models'
  | 'budgets'
  | 'mcp'
  | 'backends'
  | 'a2a'
  | 'open'
  | 'sortRate'
  | 'sortErrors'
  | 'sortLatency'
  | 'sortName'
  | 'filter'
  | 'pause'
  | 'help'
  | 'back'
  | 'quit'

interface KeyBinding {
  readonly command: Command
  readonly letters: string
  readonly names: readonly KeyName[]
  /** As shown in the help; several commands may share a line. */
  readonly keys: string
  readonly what: string
}

/** All keys of the view: used by the keyboard, the help and the tests. */
export const BINDINGS: readonly KeyBinding[] = [
  { command: 'all', letters: '0', names: [], keys: '0', what: 'the busiest of everything' },
  { command: 'routes', letters: '1', names: [], keys: '1', what: 'routes' },
  { command: 'models', letters: '2', names: [], keys: '2', what: 'models' },
  { command: 'budgets', letters: '3', names: [], keys: '3', what: 'what is left of rate limits' },
  { command: 'mcp', letters: '4', names: [], keys: '4', what: 'MCP targets and what is asked of them' },
  { command: 'backends', letters: '5', names: [], keys: '5', what: 'backends' },
  { command: 'a2a', letters: '6', names: [], keys: '6', what: 'what agents are asked, where there are any' },
  { command: 'nextSection', letters: '', names: ['tab', 'right'], keys: 'Tab →', what: 'the next of these' },
  { command: 'previousSection', letters: '', names: ['shiftTab', 'left'], keys: 'Shift-Tab ←', what: 'the one before' },
  { command: 'down', letters: 'j', names: ['down'], keys: 'j ↓', what: 'next line' },
  { command: 'up', letters: 'k', names: ['up'], keys: 'k ↑', what: 'previous line' },
  { command: 'pageDown', letters: '', names: ['pageDown'], keys: 'PgDn', what: 'next page' },
  { command: 'pageUp', letters: '', names: ['pageUp'], keys: 'PgUp', what: 'previous page' },
  { command: 'first', letters: 'g', names: ['home'], keys: 'g Home', what: 'first line' },
  { command: 'last', letters: 'G', names: ['end'], keys: 'G End', what: 'last line' },
  { command: 'open', letters: '', names: ['enter'], keys: 'Enter', what: 'all about the chosen line' },
  { command: 'sortRate', letters: 'r', names: [], keys: 'r', what: 'sort by rate; again: the other way round' },
  { command: 'sortErrors', letters: 'e', names: [], keys: 'e', what: 'sort by errors' },
  { command: 'sortLatency', letters: 'l', names: [], keys: 'l', what: 'sort by latency (P99)' },
  { command: 'sortName', letters: 'n', names: [], keys: 'n', what: 'sort by name' },
  { command: 'filter', letters: '/', names: [], keys: '/', what: 'filter; Enter keeps it, Esc clears it' },
  { command: 'pause', letters: 'p ', names: [], keys: 'p Space', what: 'pause and resume the picture' },
  { command: 'help', letters: '?h', names: [], keys: '? h', what: 'these keys' },
  { command: 'back', letters: '', names: ['escape'], keys: 'Esc', what: 'back; from the top, quit' },
  { command: 'quit', letters: 'q', names: [], keys: 'q', what: 'quit (Ctrl-C: with exit code 130)' },
]

export function commandOf({ name, text }: KeyPress): Command | undefined {
  const found = BINDINGS.find(({ letters, names }) =>
    name === 'text' ? text !== '' && letters.includes(text) : names.includes(name),
  )
  return found?.command
}

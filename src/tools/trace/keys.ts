import type { KeyName, KeyPress } from '../terminal/keyboard.ts'
import type { Move } from '../terminal/moves.ts'

/** The effect of a key. Movements have several keys each, other commands one. */
export type Command =
  | Move
  | 'nextPane'
  | 'previousPane'
  | 'viewEvent'
  | 'viewState'
  | 'viewDiff'
  | 'viewConfig'
  | 'viewCel'
  | 'filter'
  | 'nextMatch'
  | 'previousMatch'
  | 'severity'
  | 'wrap'
  | 'format'
  | 'bytes'
  | 'edit'
  | 'test'
  | 'replay'
  | 'inject'
  | 'rerun'
  | 'mark'
  | 'compare'
  | 'copy'
  | 'save'
  | 'follow'
  | 'pause'
  | 'menu'
  | 'back'
  | 'quit'

export interface KeyBinding {
  readonly command: Command
  /** The letter typed; absent for other keys. */
  readonly letter?: string
  /** As shown in the menu. */
  readonly keys: string
  readonly what: string
}

/** All keys of the view: used by the keyboard, the menu and the tests. */
export const BINDINGS: readonly KeyBinding[] = [
  { command: 'down', letter: 'j', keys: 'j ↓', what: 'next line' },
  { command: 'up', letter: 'k', keys: 'k ↑', what: 'previous line' },
  { command: 'pageDown', keys: 'PgDn', what: 'next page' },
  { command: 'pageUp', keys: 'PgUp', what: 'previous page' },
  { command: 'first', letter: 'g', keys: 'g Home', what: 'first line' },
  { command: 'last', letter: 'G', keys: 'G End', what: 'last line; on the last request new ones are followed' },
  { command: 'nextPane', keys: 'Tab Enter', what: 'next pane' },
  { command: 'previousPane', keys: 'Shift-Tab', what: 'the pane before' },
  { command: 'viewEvent', letter: '1', keys: '1', what: 'the event of the step' },
  { command: 'viewState', letter: '2', keys: '2', what: 'the request or response as it is after the step' },
  { command: 'viewDiff', letter: '3', keys: '3', what: 'what the stage of the step has changed' },
  { command: 'viewConfig', letter: '4', keys: '4', what: 'the lines of the configuration behind the step' },
  { command: 'viewCel', letter: '5', keys: '5', what: 'the expressions that were evaluated, with their results' },
  {
    command: 'filter',
    letter: '/',
    keys: '/',
    what: 'filter the list, or search the detail; Enter keeps it, Esc clears it',
  },
  { command: 'nextMatch', letter: 'n', keys: 'n', what: 'next match' },
  { command: 'previousMatch', letter: 'N', keys: 'N', what: 'previous match' },
  { command: 'severity', letter: 's', keys: 's', what: 'show all steps, warnings and errors, errors only' },
  { command: 'wrap', letter: 'w', keys: 'w', what: 'wrap or cut long lines' },
  { command: 'format', letter: 'f', keys: 'f', what: 'YAML or JSON' },
  { command: 'bytes', letter: 'b', keys: 'b', what: 'bodies decoded or as bytes' },
  { command: 'edit', letter: 'o', keys: 'o', what: 'open the line of the configuration in $EDITOR' },
  { command: 'test', letter: 't', keys: 't', what: 'write the request as a test case (*.gwtest.yaml)' },
  { command: 'replay', letter: 'r', keys: 'r', what: 'send the request again' },
  { command: 'inject', letter: 'i', keys: 'i', what: 'send another request' },
  {
    command: 'rerun',
    letter: 'R',
    keys: 'R',
    what: 'run it through another configuration and compare; nothing is sent',
  },
  { command: 'mark', letter: 'm', keys: 'm', what: 'mark the request' },
  { command: 'compare', letter: 'd', keys: 'd', what: 'compare the request with the marked one' },
  { command: 'copy', letter: 'y', keys: 'y', what: 'copy the event to the clipboard of the terminal' },
  { command: 'save', letter: 'S', keys: 'S', what: 'save the events of the request, for -f' },
  { command: 'follow', letter: 'F', keys: 'F', what: 'follow the newest request, or stay' },
  { command: 'pause', letter: 'p', keys: 'p', what: 'pause and resume the picture; events are still recorded' },
  { command: 'menu', letter: '?', keys: '? :', what: 'this menu: type to filter, Enter runs' },
  { command: 'back', keys: 'Esc', what: 'back; from the top, quit' },
  { command: 'quit', letter: 'q', keys: 'q', what: 'quit (Ctrl-C: with exit code 130)' },
]

const BY_LETTER: ReadonlyMap<string, Command> = new Map([
  ...BINDINGS.flatMap(({ command, letter }) => (letter === undefined ? [] : [[letter, command] as const])),
  [':', 'menu'],
])

const BY_NAME = {
  up: 'up',
  down: 'down',
  pageUp: 'pageUp',
  pageDown: 'pageDown',
  home: 'first',
  end: 'last',
  tab: 'nextPane',
  enter: 'nextPane',
  shiftTab: 'previousPane',
  escape: 'back',
} as const satisfies Partial<Record<KeyName, Command>>

export function commandOf({ name, text }: KeyPress): Command | undefined {
  if (name === 'text') return BY_LETTER.get(text)
  return Object.hasOwn(BY_NAME, name) ? BY_NAME[name as keyof typeof BY_NAME] : undefined
}

/** The bindings that match a search text. */
export function bindingsFor(filter: string): readonly KeyBinding[] {
  const words = filter.toLowerCase().split(' ')
  return BINDINGS.filter(({ keys, what, command }) => {
    const text = `${keys} ${what} ${command}`.toLowerCase()
    return words.every(word => text.includes(word))
  })
}

/** A key as reported by the terminal, without escape sequences. `text` is what a letter or a paste types. */
export type KeyName =
  | 'up'
  | 'down'
  | 'left'
  | 'right'
  | 'pageUp'
  | 'pageDown'
  | 'home'
  | 'end'
  | 'tab'
  | 'shiftTab'
  | 'enter'
  | 'escape'
  | 'backspace'
  | 'interrupt'
  | 'text'

export interface KeyPress {
  readonly name: KeyName
  readonly text: string
}

/** An input line after one more key. */
export function edited(text: string, key: KeyPress): string {
  if (key.name === 'backspace') return [...text].slice(0, -1).join('')
  return key.name === 'text' ? text + key.text : text
}

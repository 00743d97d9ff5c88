/**
 * Makes untrusted text safe to print on one terminal line: control characters, bidirectional overrides and invisible
 * characters are replaced by symbols, so that a file can neither control the terminal nor hide its content.
 */
export function visible(text: string): string {
  let out = ''
  for (const char of text) out += visibleChar(char)
  return out
}

/**
 * Hidden or reordering characters that must be made visible: zero-width, bidirectional, separators, tags, lone
 * surrogates.
 */
const HIDDEN =
  /[\u0080-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Cs}]/u

export function visibleChar(char: string): string {
  const code = char.codePointAt(0)!
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  if (code === 0x7f) return '\u2421'
  if (code < 0x7f || !HIDDEN.test(char)) return char
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
}

const ZERO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u
/** East Asian wide and fullwidth characters, and emoji that take two terminal cells. */
const TWO_CELLS =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u

/** Terminal cells of one code point that `visibleChar` leaves unchanged. */
export function charWidth(char: string): 0 | 1 | 2 {
  if (char.codePointAt(0)! < 0x300) return 1
  if (ZERO_WIDTH.test(char)) return 0
  return TWO_CELLS.test(char) ? 2 : 1
}

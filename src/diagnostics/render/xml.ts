import { visibleChar } from '../visible.ts'

/**
 * Text as it may stand in XML 1.0, in attributes and between tags: line breaks survive attribute normalization, and
 * characters that no XML document can hold become pictures of themselves.
 */
export function xml(text: string): string {
  let out = ''
  for (const char of text) out += ESCAPES[char] ?? visibleChar(char)
  return out
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\t': '&#9;',
  '\n': '&#10;',
  '\r': '&#13;',
  '\ufffe': '⟨U+FFFE⟩',
  '\uffff': '⟨U+FFFF⟩',
}

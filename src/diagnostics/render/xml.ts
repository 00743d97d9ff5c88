import { visibleChar } from '../visible.ts'

/**
 * Text escaped for XML 1.0 attributes and content: line breaks survive attribute normalization, and characters that XML
 * cannot represent are replaced by control pictures.
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

import { Lexer } from 'yaml'
import { blankJsonComments } from './source-text.ts'

export interface Comment {
  /** Offset of the comment's `#` or `//`. */
  readonly start: number
  /** Including its marker, without the line break. */
  readonly text: string
}

/** Every comment of a YAML or `.jsonc` text, ignoring lookalikes inside scalars. */
export function findComments(file: string, text: string): Comment[] {
  return /\.jsonc$/i.test(file) ? jsonComments(text) : yamlComments(text)
}

/** The lexer's markers for the start of a document, a scalar or its end, which represent no text. */
const MARKS: ReadonlySet<string> = new Set(['\u0002', '\u0018', '\u001f'])

function yamlComments(text: string): Comment[] {
  const comments: Comment[] = []
  let at = 0
  let scalar = false
  for (const lexeme of new Lexer().lex(text)) {
    if (MARKS.has(lexeme)) {
      scalar = lexeme === '\u001f'
      continue
    }
    if (!scalar && lexeme.startsWith('#')) comments.push({ start: at, text: lexeme.trimEnd() })
    scalar = false
    at += lexeme.length
  }
  return comments
}

function jsonComments(text: string): Comment[] {
  const blank = blankJsonComments(text)
  const comments: Comment[] = []
  for (const match of text.matchAll(/\/\/[^\n]*/g)) {
    if (blank[match.index] === ' ') comments.push({ start: match.index, text: match[0].trimEnd() })
  }
  return comments
}

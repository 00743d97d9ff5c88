import type { Paint } from '../../diagnostics/paint.ts'
import { visible } from '../../diagnostics/visible.ts'
import { cellsOf } from '../terminal/cells.ts'

/** Text, possibly with a tone. */
export type Piece = string | readonly [tone: keyof Paint, text: string]

interface Line {
  readonly label: string
  /** Indentation in cells. */
  readonly indent: number
  readonly pieces: readonly Piece[]
}

const LABEL = 10

/** Lines in sections: the section's name appears once, with its text beside it. */
export class Sections {
  readonly #lines: Line[] = []
  #section = ''

  title(...pieces: readonly Piece[]): void {
    this.#lines.push({ label: '', indent: 0, pieces })
  }

  add(section: string, ...pieces: readonly Piece[]): void {
    const label = section === this.#section ? '' : section
    this.#section = section
    this.#lines.push({ label, indent: LABEL, pieces })
  }

  /** Indented further than the previous line. */
  more(depth: number, ...pieces: readonly Piece[]): void {
    this.#lines.push({ label: '', indent: LABEL + 2 * depth, pieces })
  }

  /** `width`: terminal width. Undefined to leave lines unwrapped. */
  text(paint: Paint, width: number | undefined): string {
    return this.#lines.map(line => `${drawn(line, paint, width)}\n`).join('')
  }
}

/** Indentation of continuation lines. */
const HANGING = 2

function drawn({ label, indent, pieces }: Line, paint: Paint, width = Number.POSITIVE_INFINITY): string {
  const rows = [label === '' ? ' '.repeat(indent) : paint.bold(label.padEnd(indent))]
  let used = indent
  for (const [tone, word] of wordsOf(pieces)) {
    const cells = cellsOf(word)
    const isSpace = word.trim() === ''
    if (used + cells > width && used > indent + HANGING) {
      rows.push(' '.repeat(indent + HANGING))
      used = indent + HANGING
      if (isSpace) continue
    }
    rows.push(`${rows.pop()}${tone === undefined || isSpace ? word : paint[tone](word)}`)
    used += cells
  }
  return rows.map(row => row.trimEnd()).join('\n')
}

/** Words and white space separately, with their tones. */
function wordsOf(pieces: readonly Piece[]): (readonly [tone: keyof Paint | undefined, word: string])[] {
  return pieces.flatMap(piece => {
    const [tone, text] = typeof piece === 'string' ? [undefined, piece] : piece
    return (visible(text).match(/\s+|\S+/g) ?? []).map(word => [tone, word] as const)
  })
}

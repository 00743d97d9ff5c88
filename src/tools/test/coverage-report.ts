import type { Paint } from '../../diagnostics/paint.ts'
import { displayPath } from '../../diagnostics/render/report.ts'
import { visible } from '../../diagnostics/visible.ts'
import { blockEnd } from './config-lines.ts'
import { type Coverage, type CoveredPart, percentOf } from './coverage.ts'
import { COVERED } from './reached.ts'

/** The parts that no request reached, and their share. */
export function coverageText(parts: Coverage, cwd: string, paint: Paint): string {
  const missed = parts.filter(({ hits }) => hits === 0)
  const lines = missed.map(
    ({ kind, name, origin }) =>
      `  ${kind.padEnd(8)} ${visible(name)}  ${paint.dim(`${displayPath(origin.file, cwd)}:${origin.line}`)}`,
  )
  const counts = COVERED.flatMap(kind => {
    const own = parts.filter(part => part.kind === kind)
    return own.length === 0 ? [] : `${plural(kind)} ${own.filter(({ hits }) => hits > 0).length}/${own.length}`
  })
  if (parts.length === 0) return 'Coverage: nothing ran that could be counted.\n'
  const head = lines.length === 0 ? [] : ['Never reached:', ...lines, '']
  return [...head, `Coverage ${rounded(percentOf(parts))} %: ${counts.join(', ')}`].map(line => `${line}\n`).join('')
}

function plural(kind: CoveredPart['kind']): string {
  return kind === 'policy' ? 'policies' : `${kind}s`
}

/** Rounds down: 99.96 % is not all. */
export function rounded(percent: number): number {
  return Math.floor(percent * 10) / 10
}

export function coverageJson(parts: Coverage, cwd: string) {
  return {
    percent: rounded(percentOf(parts)),
    parts: parts.map(({ kind, name, origin, hits }) => ({
      kind,
      name,
      file: displayPath(origin.file, cwd),
      line: origin.line,
      hits,
    })),
  }
}

/**
 * An lcov tracefile: each line of a part has the count of the innermost part that contains it; parts are reported as
 * functions.
 */
export function coverageLcov(parts: Coverage, textOf: (file: string) => string | undefined, cwd: string): string {
  const byFile = Map.groupBy(parts, ({ origin }) => origin.file)
  return [...byFile].map(([file, own]) => record(displayPath(file, cwd), own, textOf(file) ?? '')).join('')
}

function record(file: string, parts: Coverage, text: string): string {
  const lines = countedLines(parts, text.split('\n'))
  const functions = uniqueNames(parts)
  const out = [
    'TN:',
    `SF:${file}`,
    ...functions.map(([name, { origin }]) => `FN:${origin.line},${name}`),
    ...functions.map(([name, { hits }]) => `FNDA:${hits},${name}`),
    `FNF:${functions.length}`,
    `FNH:${functions.filter(([, { hits }]) => hits > 0).length}`,
    ...lines.map(([line, hits]) => `DA:${line},${hits}`),
    `LF:${lines.length}`,
    `LH:${lines.filter(([, hits]) => hits > 0).length}`,
    'end_of_record',
  ]
  return out.map(line => `${line}\n`).join('')
}

/** Parts are in line order, so the innermost one is written last. */
function countedLines(parts: Coverage, written: readonly string[]): (readonly [line: number, hits: number])[] {
  const lines = new Map<number, number>()
  for (const { origin, hits } of parts) {
    const end = blockEnd(written, origin.line)
    for (let line = origin.line; line <= end; line++) lines.set(line, hits)
  }
  // Several may be on one line, in a flow map.
  for (const [line, own] of Map.groupBy(parts, ({ origin }) => origin.line)) {
    lines.set(line, Math.max(...own.map(({ hits }) => hits)))
  }
  return [...lines].filter(([line]) => !/^\s*(?:#|$)/.test(written[line - 1] ?? '')).sort(([a], [b]) => a - b)
}

/** The format has no escapes. */
function uniqueNames(parts: Coverage): (readonly [name: string, part: CoveredPart])[] {
  const used = new Set<string>()
  return parts.map(part => {
    const plain = visible(`${part.kind} ${part.name}`)
    const name = used.has(plain) ? `${plain} (line ${part.origin.line})` : plain
    used.add(name)
    return [name, part]
  })
}

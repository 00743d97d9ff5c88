import { dirname, relative, resolve, sep } from 'node:path'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { Failure } from '../../diagnostics/failure.ts'
import type { Suppressed } from '../../diagnostics/render/report.ts'
import { readRegularFile } from '../../files/read-file.ts'
import { replaceFile } from '../../files/write-file.ts'

const VERSION = 1

/** A known finding, which occurs `count` times in the file, at whatever position. */
interface Known {
  readonly file: string
  readonly resource?: string
  readonly path: string
  readonly code: string
  readonly message: string
  readonly count: number
}

export interface Compared {
  readonly kept: readonly Diagnostic[]
  readonly suppressed: readonly Suppressed[]
  /** Findings of the baseline that no longer occur. */
  readonly gone: number
}

/** Removes findings that the baseline knows. Throws an input Failure if the baseline cannot be read. */
export function applyBaseline(baseline: string, diagnostics: readonly Diagnostic[], cwd: string): Compared {
  const left = new Map<string, number>()
  for (const known of readBaseline(baseline, cwd)) left.set(keyOf(known), (left.get(keyOf(known)) ?? 0) + known.count)
  const kept: Diagnostic[] = []
  const suppressed: Suppressed[] = []
  for (const diagnostic of diagnostics) {
    const key = keyOf(entryOf(diagnostic, baseline, cwd))
    const count = left.get(key) ?? 0
    if (count === 0) kept.push(diagnostic)
    else {
      left.set(key, count - 1)
      suppressed.push({ diagnostic, kind: 'external', reason: `known to ${baseline}` })
    }
  }
  return { kept, suppressed, gone: [...left.values()].reduce((sum, count) => sum + count, 0) }
}

/** Records all findings as known; returns their number. */
export function writeBaseline(baseline: string, diagnostics: readonly Diagnostic[], cwd: string): number {
  const known = new Map<string, Known>()
  for (const diagnostic of diagnostics) {
    const entry = entryOf(diagnostic, baseline, cwd)
    const before = known.get(keyOf(entry))
    known.set(keyOf(entry), { ...entry, count: (before?.count ?? 0) + 1 })
  }
  const findings = [...known.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry)
  const text = `${JSON.stringify({ version: VERSION, findings }, null, 2)}\n`
  replaceFile(baseline, text, baseline, cwd)
  return diagnostics.length
}

/** Paths are relative to the baseline's directory, so the working directory does not matter. */
function entryOf(d: Diagnostic, baseline: string, cwd: string): Known {
  const file = relative(dirname(resolve(cwd, baseline)), resolve(cwd, d.file))
    .split(sep)
    .join('/')
  const resource = d.resource === undefined ? {} : { resource: d.resource }
  return { file, ...resource, path: d.path, code: d.code, message: d.message, count: 1 }
}

function keyOf({ file, resource, path, code, message }: Known): string {
  return JSON.stringify([file, resource ?? '', path, code, message])
}

function readBaseline(baseline: string, cwd: string): readonly Known[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(readRegularFile(resolve(cwd, baseline)).toString('utf8'))
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new Failure(
      'input',
      `cannot read the baseline ${baseline}: ${missing ? 'no such file' : 'it is not JSON'}.`,
      {
        help: 'Make one with --write-baseline.',
        cause: error,
      },
    )
  }
  const { version, findings } = (parsed ?? {}) as { version?: unknown; findings?: unknown }
  if (version !== VERSION || !Array.isArray(findings) || !findings.every(isKnown)) {
    throw new Failure('input', `${baseline} is not a baseline of this version of gwctl.`, {
      help: 'Make a new one with --write-baseline.',
    })
  }
  return findings
}

function isKnown(value: unknown): value is Known {
  if (typeof value !== 'object' || value === null) return false
  const { file, resource, path, code, message, count } = value as Record<string, unknown>
  const texts = [file, path, code, message, resource ?? '']
  return texts.every(text => typeof text === 'string') && Number.isSafeInteger(count) && (count as number) > 0
}

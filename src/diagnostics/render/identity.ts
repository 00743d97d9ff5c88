import { createHash } from 'node:crypto'
import type { Diagnostic } from '../diagnostic.ts'
import { displayPath } from './report.ts'

/** The identity of a finding, independent of its line: moving it within the file preserves it. */
function identityOf(d: Diagnostic, cwd: string): string {
  return JSON.stringify([displayPath(d.file, cwd), d.resource ?? '', d.path, d.code])
}

/** One fingerprint per diagnostic; diagnostics with the same identity get distinct ones. */
export function fingerprints(diagnostics: readonly Diagnostic[], cwd: string): string[] {
  const seen = new Map<string, number>()
  return diagnostics.map(d => {
    const identity = identityOf(d, cwd)
    const nth = seen.get(identity) ?? 0
    seen.set(identity, nth + 1)
    return createHash('sha256').update(`${identity}#${nth}`).digest('hex').slice(0, 32)
  })
}

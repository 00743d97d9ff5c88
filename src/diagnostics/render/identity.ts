import { createHash } from 'node:crypto'
import type { Diagnostic } from '../diagnostic.ts'
import { displayPath } from './report.ts'

/** What a finding is about, without the line it stands on: moving it in its file keeps it the same finding. */
function identityOf(d: Diagnostic, cwd: string): string {
  return JSON.stringify([displayPath(d.file, cwd), d.resource ?? '', d.path, d.code])
}

/** One fingerprint per diagnostic; of several with the same identity, each has its own. */
export function fingerprints(diagnostics: readonly Diagnostic[], cwd: string): string[] {
  const seen = new Map<string, number>()
  return diagnostics.map(d => {
    const identity = identityOf(d, cwd)
    const nth = seen.get(identity) ?? 0
    seen.set(identity, nth + 1)
    return createHash('sha256').update(`${identity}#${nth}`).digest('hex').slice(0, 32)
  })
}

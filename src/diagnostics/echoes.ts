import type { Diagnostic } from './diagnostic.ts'

/**
 * Drops YAML 1.1 warnings about values that are invalid anyway: one mistake is one finding. The warnings may also quote
 * the value, which an error about a secret never does.
 */
export function withoutEchoes(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  if (!diagnostics.some(isEcho)) return diagnostics
  const wrong = new Set(diagnostics.filter(d => d.severity === 'error' && !isEcho(d)).map(placeOf))
  return diagnostics.filter(d => !isEcho(d) || !wrong.has(placeOf(d)))
}

function isEcho({ code }: Diagnostic): boolean {
  return code === 'GW005'
}

function placeOf({ file, range }: Diagnostic): string {
  return `${file}:${range.start.offset}-${range.end.offset}`
}

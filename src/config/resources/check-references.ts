import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Resource } from './resource.ts'
export function checkReferences(_r: readonly Resource[], _p: boolean): Diagnostic[] {
  return []
}

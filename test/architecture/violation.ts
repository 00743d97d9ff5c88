export interface Violation {
  readonly path: string
  readonly line: number
  readonly message: string
}

/** One line each, as an editor's terminal makes clickable. */
export function show(violations: readonly Violation[]): string[] {
  return violations.map(({ path, line, message }) => `${path}:${line} ${message}`)
}

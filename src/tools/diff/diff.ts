import { readSides, type SideOptions } from './side.ts'
import { type Change, structuralChanges } from './structure.ts'

export interface DiffOptions extends SideOptions {}

/** What two configurations do not have in common. */
export interface Diff {
  readonly before: string
  readonly after: string
  readonly changes: readonly Change[]
  /** What could not be compared. */
  readonly notes: readonly string[]
}

/** Compares two configurations. Throws a Failure that names the side that cannot be read, compiled or reached. */
export async function diff(names: readonly [string, string], options: DiffOptions): Promise<Diff> {
  const [before, after] = await readSides(names, options)
  const dumps = [before, after].filter(side => side.configuration === undefined)
  return {
    before: before.name,
    after: after.name,
    changes: structuralChanges(before, after),
    notes: dumps.map(({ name }) => `${name} is a dump: whether a secret has changed cannot be told.`),
  }
}

export function differs({ changes }: Diff): boolean {
  return changes.length > 0
}

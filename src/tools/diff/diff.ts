import { compareRequests, type Requests } from './requests.ts'
import { readSides, type SideOptions } from './side.ts'
import { type Change, compareStructure } from './structure.ts'

export interface DiffOptions extends SideOptions {
  /** When false, only the objects are compared. */
  readonly witness: boolean
  /** Recorded requests to replay: a file of `gwctl trace --raw`, or a HAR document. */
  readonly requests?: string
  /** Maximum number of derived requests. */
  readonly limit?: number
}

/** The differences between two configurations. */
export interface Diff {
  readonly before: string
  readonly after: string
  readonly changes: readonly Change[]
  /** Unset if none were run. */
  readonly requests?: Requests
  /** What could not be compared. */
  readonly notes: readonly string[]
}

/** Compares two configurations. Throws a Failure that names the side that cannot be read, compiled or reached. */
export async function diff(names: readonly [string, string], options: DiffOptions): Promise<Diff> {
  const sides = await readSides(names, options)
  const [before, after] = sides
  const notes = sides
    .filter(side => side.configuration === undefined)
    .map(({ name }) => `${name} is a dump: changed secrets cannot be detected.`)
  const structure = compareStructure(before, after)
  const requests = options.witness ? await compareRequests(sides, structure, options, notes) : undefined
  return {
    before: before.name,
    after: after.name,
    changes: structure.changes,
    ...(requests === undefined ? {} : { requests }),
    notes,
  }
}

export function differs({ changes, requests }: Diff): boolean {
  return changes.length > 0 || (requests?.differ ?? []).length > 0
}

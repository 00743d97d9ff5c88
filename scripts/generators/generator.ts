/** Makes files that are committed, from what the sources declare. */
export interface Generator {
  readonly name: string
  /**
   * Path from the project's root → text. The same sources give the same texts: no dates, no order of a directory
   * listing, nothing of this machine.
   */
  outputs(): Promise<ReadonlyMap<string, string>>
  /** Directories of which it owns every file: what it no longer makes is removed. */
  readonly owns?: readonly string[]
}

import { existsSync } from 'node:fs'
import { Failure } from '../../../diagnostics/failure.ts'
import { printYaml } from '../../../diagnostics/print-yaml.ts'
import { parseSource } from '../../../diagnostics/source.ts'
import { replaceFile } from '../../../files/write-file.ts'
import { type InputFile, type InputPlace, readInputFile } from '../../input/input-files.ts'
import { type Difference, isRecord } from '../../test-file/matcher.ts'
import { differencesFrom, savable } from './differences.ts'

/** The effect of an update; `unasked`: saved values that no case uses, if they were kept. */
export interface SnapshotCounts {
  readonly file: string
  readonly added: number
  readonly changed: number
  readonly removed: number
  readonly unasked: number
}

const HEAD =
  '# What came of the cases, where they expect `{snapshot: true}`. Written by `gwctl test --update`; commit it.\n'

type Saved = Map<string, Map<string, unknown>>

/** The last accepted values of a test file's fields, by case and field. Stored beside the test file as `NAME.snap`. */
export class SnapshotFile {
  readonly #file: string
  readonly #path: string | undefined
  readonly #cwd: string
  readonly #updates: boolean
  readonly #before: Saved
  readonly #problem: Failure | undefined
  readonly #now: Saved = new Map()

  /** The snapshots of a test file. Mistakes in them are reported on first use. */
  static async open({ file, path }: InputFile, place: InputPlace, updates: boolean) {
    const own = { file: `${file}.snap`, path: path === undefined ? undefined : `${path}.snap`, named: true }
    if (own.path === undefined || !existsSync(own.path)) return new SnapshotFile(own, place.cwd, updates, new Map())
    try {
      return new SnapshotFile(own, place.cwd, updates, savedIn(own.file, (await readInputFile(own, place)).text))
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      return new SnapshotFile(own, place.cwd, updates, updates ? new Map() : error)
    }
  }

  private constructor({ file, path }: InputFile, cwd: string, updates: boolean, before: Saved | Failure) {
    this.#cwd = cwd
    this.#file = file
    this.#path = path
    this.#updates = updates
    this.#before = before instanceof Failure ? new Map() : before
    this.#problem = before instanceof Failure ? before : undefined
  }

  /** `key`: of the field, within its case. Throws a Failure if the file cannot be read. */
  compare(testCase: string, key: string, actual: unknown): Difference[] {
    if (this.#path === undefined) {
      throw new Failure('input', 'tests from stdin have no snapshots: nothing says where they are.')
    }
    if (this.#problem) throw this.#problem
    const now = savable(actual)
    const fields = this.#now.get(testCase) ?? new Map<string, unknown>()
    this.#now.set(testCase, fields.set(key, now))
    if (this.#updates) return []
    const before = this.#before.get(testCase)
    if (before?.has(key)) return differencesFrom(before.get(key), now)
    return [{ path: [], expected: 'a snapshot, but none is saved: `gwctl test --update` saves one', actual: now }]
  }

  /**
   * `left`: existing cases that did not run, or not completely. Their saved values are kept; those of other cases
   * without a run are dropped.
   */
  finish(left: ReadonlySet<string>): SnapshotCounts {
    const kept = [...this.#before].filter(([name]) => left.has(name))
    const rest = [...this.#before].filter(([name]) => !left.has(name))
    const unasked = rest.flatMap(([name, fields]) => [...fields.keys()].filter(key => !this.#now.get(name)?.has(key)))
    if (!this.#updates) return { file: this.#file, added: 0, changed: 0, removed: 0, unasked: unasked.length }
    const merged: Saved = new Map(kept)
    const counts = { added: 0, changed: 0 }
    for (const [name, fields] of this.#now) {
      merged.set(name, new Map([...(merged.get(name) ?? []), ...fields]))
      for (const [key, value] of fields) {
        const before = this.#before.get(name)
        if (!before?.has(key)) counts.added++
        else if (differencesFrom(before.get(key), value).length > 0) counts.changed++
      }
    }
    const done = { file: this.#file, ...counts, removed: unasked.length, unasked: 0 }
    if (this.#path !== undefined && done.added + done.changed + done.removed > 0) {
      replaceFile(this.#path, textOf(merged), this.#file, this.#cwd)
    }
    return done
  }
}

function textOf(saved: Saved): string {
  const cases = [...saved].sort(([a], [b]) => (a < b ? -1 : 1))
  return `${HEAD}${printYaml(Object.fromEntries(cases.map(([name, fields]) => [name, Object.fromEntries(fields)])))}`
}

/** Throws a Failure. */
function savedIn(file: string, text: string): Saved {
  const { documents, diagnostics } = parseSource(file, text)
  const value = documents[0]?.value ?? {}
  const [first] = diagnostics.filter(({ severity }) => severity === 'error')
  if (first || !isRecord(value)) {
    const why = first === undefined ? 'it holds no snapshots' : `line ${first.range.start.line}: ${first.message}`
    throw new Failure('input', `${file} cannot be read: ${why}. gwctl test --update writes it anew.`)
  }
  return new Map(Object.entries(value).map(([name, fields]) => [name, new Map(Object.entries(Object(fields)))]))
}

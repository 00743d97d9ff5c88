import { dirname, join } from 'node:path'
import type { Snapshot } from '../../config/snapshot.ts'
import type { Diagnostic, Origin } from '../../diagnostics/diagnostic.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { unreadable } from '../check.ts'
import { type DryGateway, type DryOutcome, loadDryGateway } from '../dry-run/dry-run.ts'
import { type InputFile, type InputPlace, type InputText, readInputFile } from '../input-files.ts'
import { readServed } from '../serve/served-input.ts'
import { countReached, type Reached } from './reached.ts'
import { type ReadTestFile, readTestFile } from './read-test-file.ts'
import { runCase, type WrongOutcome } from './run-case.ts'
import type { TestFile } from './test-file.ts'

export interface TestOptions extends InputPlace {
  readonly env: Readonly<Record<string, string | undefined>>
  /** In place of the configuration that a file names; relative to `cwd`. */
  readonly config?: string
  /** Only cases whose names match. */
  readonly filter?: { test(name: string): boolean }
  /** Nothing more runs after the first failure. */
  readonly bail?: boolean
  /** The i-th of n equal parts, from 1. */
  readonly shard?: { readonly index: number; readonly of: number }
  progress?(text: string): void
}

export interface RunCase {
  readonly name: string
  readonly origin: Origin
  readonly state: 'passed' | 'failed' | 'skipped'
  /** Why it did not run. */
  readonly reason?: string
  readonly wrong: readonly WrongOutcome[]
  /** ms of the wall. */
  readonly duration: number
}

export interface RunFile {
  readonly file: string
  readonly cases: readonly RunCase[]
  /** What is wrong with the test file itself: nothing of it ran. */
  readonly broken: boolean
  /** Of the test file and of its configuration. */
  readonly diagnostics: readonly Diagnostic[]
  readonly texts: readonly InputText[]
  /** What ran, and what of it was reached. */
  readonly ran?: {
    readonly snapshot: Snapshot
    readonly reached: Reached
    /** Stubs that nothing called, and what was called without one. */
    readonly uncalled: readonly string[]
    readonly unstubbed: ReadonlySet<string>
  }
}

/** Runs the cases of all files, one file after the other. Throws a Failure where the only one cannot be read. */
export async function runTests(inputs: readonly InputFile[], options: TestOptions): Promise<readonly RunFile[]> {
  const run = new TestRun(options)
  const files: RunFile[] = []
  for (const input of inputs) {
    const text = await readInputFile(input, options).catch(error => {
      if (inputs.length > 1 && error instanceof Failure) return error
      throw error
    })
    if (text instanceof Failure) {
      files.push({ file: input.file, texts: [], cases: [], broken: true, diagnostics: [unreadable(input.file, text)] })
    } else files.push(await run.file({ file: input.file, text: text.text }))
    if (run.over) break
  }
  return files
}

/** ms between two words about how far it is: what is faster than that needs none. */
const BETWEEN = 100

class TestRun {
  over = false
  readonly #options: TestOptions
  /** Read once: it may be stdin. */
  #given: Promise<readonly InputText[]> | undefined
  #toldAt = performance.now()
  /** Cases that were chosen or left to other shards. */
  #seen = 0

  constructor(options: TestOptions) {
    this.#options = options
  }

  async file(text: InputText): Promise<RunFile> {
    const { read, diagnostics } = readTestFile(text)
    const base = { file: text.file, texts: [text], diagnostics, cases: [], broken: false }
    if (read === undefined) return { ...base, broken: true }
    const chosen = read.content.cases.map((each, i) => ({ ...each, i })).filter(each => this.#chooses(each.name))
    if (chosen.length === 0) return base
    const config = await this.#configOf(read)
    if ('broken' in config) return { ...base, diagnostics: [...diagnostics, config.broken], broken: true }
    const { loaded, gateway } = await loadDryGateway(config.texts, this.#worldOf(read))
    const texts = [text, ...config.texts]
    if (gateway === undefined) {
      const reason = 'the configuration cannot be served'
      const state = 'failed' as const
      const cases = chosen.map(({ name, i }) => ({
        ...NOT_RUN,
        name,
        origin: read.origins[i] as Origin,
        state,
        reason,
      }))
      this.over = this.#options.bail === true
      return { ...base, texts, cases, diagnostics: [...diagnostics, ...loaded.diagnostics] }
    }
    const witness = new Witness()
    const complete = chosen.length === read.content.cases.length
    const cases: RunCase[] = []
    for (const [done, { i }] of chosen.entries()) {
      this.#tell(`${text.file}: ${done} of ${chosen.length} cases`)
      cases.push(await this.#case(read, i, gateway, witness))
      if (this.over) break
    }
    return {
      ...base,
      texts,
      cases,
      ran: {
        snapshot: gateway.snapshot,
        reached: witness.reached,
        unstubbed: witness.unstubbed,
        uncalled: complete ? witness.uncalled(read.content) : [],
      },
    }
  }

  async #case(read: ReadTestFile, index: number, gateway: DryGateway, witness: Witness): Promise<RunCase> {
    const testCase = read.content.cases[index] as ReadTestFile['content']['cases'][number]
    const about = { ...NOT_RUN, name: testCase.name, origin: read.origins[index] as Origin }
    if (testCase.skip !== undefined) return { ...about, state: 'skipped', reason: testCase.skip }
    const started = performance.now()
    const wrong = await runCase(read.content, testCase, gateway, outcome => witness.see(outcome))
    const failed = wrong.length > 0
    if (failed && this.#options.bail) this.over = true
    const duration = performance.now() - started
    return { ...about, state: failed ? 'failed' : 'passed', wrong, duration }
  }

  #tell(text: string): void {
    const now = performance.now()
    if (now - this.#toldAt < BETWEEN) return
    this.#toldAt = now
    this.#options.progress?.(`Testing ${text}`)
  }

  #chooses(name: string): boolean {
    const { filter, shard } = this.#options
    if (filter && !filter.test(name)) return false
    return shard === undefined || this.#seen++ % shard.of === shard.index - 1
  }

  #worldOf({ content: { env = {}, time, seed } }: ReadTestFile) {
    const own = Object.entries(env).map(([name, value]) => [name, String(value)] as const)
    return { cwd: this.#options.cwd, env: { ...this.#options.env, ...Object.fromEntries(own) }, time, seed }
  }

  async #configOf({ file, content, finding }: ReadTestFile) {
    const { config: given, cwd } = this.#options
    const place = { cwd, stdin: this.#options.stdin }
    if (given !== undefined) {
      this.#given ??= readServed(given, place)
      return { texts: await this.#given }
    }
    const { config } = content
    if (config === undefined) {
      const help = 'name it with `config`, or with `gwctl test --config PATH`'
      const message = 'the file does not say which configuration it tests'
      return { broken: finding({ code: 'GW103', message, path: [], at: 'value', help }) }
    }
    try {
      // A file of that name, not stdin.
      const path = join(file.startsWith('<') ? '.' : dirname(file), config)
      return { texts: await readServed(path === '-' ? './-' : path, place) }
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      const help = error.help === undefined ? {} : { help: error.help }
      return { broken: finding({ code: 'GW207', message: error.message, path: ['config'], at: 'value', ...help }) }
    }
  }
}

/** What all requests of a file came to. */
class Witness {
  readonly reached: Reached = new Map()
  readonly unstubbed = new Set<string>()
  readonly #called = new Set<string>()

  see({ events, upstream }: DryOutcome): void {
    countReached(events, this.reached)
    for (const { stub, names } of upstream) {
      if (stub !== undefined) this.#called.add(stub)
      else if (names[0] !== undefined) this.unstubbed.add(names[0])
    }
  }

  uncalled({ stubs = {}, cases }: TestFile): readonly string[] {
    const names = [stubs, ...cases.map(each => each.stubs ?? {})].flatMap(each => Object.keys(each))
    return [...new Set(names)].filter(name => !this.#called.has(name))
  }
}

const NOT_RUN = { wrong: [], duration: 0 }

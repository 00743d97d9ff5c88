import type { Snapshot } from '../../config/snapshot.ts'
import type { Diagnostic, Origin } from '../../diagnostics/diagnostic.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { unreadable } from '../check/check.ts'
import { loadDryGateway } from '../dry-run/dry-run.ts'
import { type InputFile, type InputText, readInputFile } from '../input/input-files.ts'
import type { TestCase } from '../test-file/test-file.ts'
import { LiveGateway, onlyDry } from './live.ts'
import type { Reached } from './reached.ts'
import { type ReadTestFile, readTestFile } from './read-test-file.ts'
import { runCase, runLive, type WrongOutcome } from './run-case.ts'
import { type SnapshotCounts, SnapshotFile } from './snapshot/snapshot-file.ts'
import { type ConfigOptions, TestedConfig } from './tested-config.ts'
import { Witness } from './witness.ts'

export interface TestOptions extends ConfigOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Send requests to a running gateway, of which only responses are visible. */
  readonly live?: URL
  /** Only cases with matching names. */
  readonly filter?: { test(name: string): boolean }
  /** Replace existing snapshots by the current values. */
  readonly update?: boolean
  /** Stop after the first failure. */
  readonly bail?: boolean
  /** Shard i of n, starting at 1. */
  readonly shard?: { readonly index: number; readonly of: number }
  progress?(text: string): void
}

export interface RunCase {
  readonly name: string
  readonly origin: Origin
  readonly state: 'passed' | 'failed' | 'skipped'
  /** Why it was skipped. */
  readonly reason?: string
  readonly wrong: readonly WrongOutcome[]
  /** Wall-clock ms. */
  readonly duration: number
}

export interface RunFile {
  readonly file: string
  readonly cases: readonly RunCase[]
  /** The test file itself is invalid: nothing of it ran. */
  readonly broken: boolean
  /** Of the test file and of its configuration. */
  readonly diagnostics: readonly Diagnostic[]
  readonly texts: readonly InputText[]
  readonly snapshots?: SnapshotCounts
  /** What ran, and the parts that it reached. */
  readonly ran?: {
    readonly snapshot: Snapshot
    readonly reached: Reached
    /** Stubs that were never called, if all cases ran, and services called without a stub. */
    readonly uncalled: readonly string[]
    readonly unstubbed: ReadonlySet<string>
  }
}

/** Runs the cases of all files, one file after the other. Throws a Failure if the only one cannot be read. */
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
    } else files.push(await run.file({ file: input.file, text: text.text }, input))
    if (run.over) break
  }
  return files
}

/** The way to run the cases of a file. */
interface CaseRunner {
  /** Why a case is skipped here. */
  skips(testCase: TestCase): string | undefined
  run(testCase: TestCase): Promise<readonly WrongOutcome[]>
}

/** Minimum interval in ms between progress reports. */
const BETWEEN = 100

class TestRun {
  over = false
  readonly #options: TestOptions
  readonly #config: TestedConfig
  #toldAt = performance.now()
  /** Cases selected so far, including those of other shards. */
  #seen = 0

  constructor(options: TestOptions) {
    this.#options = options
    this.#config = new TestedConfig(options)
  }

  async file(text: InputText, input: InputFile): Promise<RunFile> {
    const { read, diagnostics } = readTestFile(text)
    const base = { file: text.file, texts: [text], diagnostics, cases: [], broken: false }
    if (read === undefined) return { ...base, broken: true }
    const chosen = [...read.content.cases.keys()].filter(i => this.#chooses(read.content.cases[i] as TestCase))
    if (chosen.length === 0) return base
    const { live, update = false } = this.#options
    const snapshots = await SnapshotFile.open(input, this.#options, update)
    const run = live
      ? await this.#live(read, chosen, base, { snapshots, live })
      : await this.#dry(read, chosen, base, snapshots)
    if (run.ran === undefined) return run
    const left = new Set(read.content.cases.map(({ name }) => name))
    for (const { name, state, reason } of run.cases) if (state !== 'skipped' && reason === undefined) left.delete(name)
    return { ...run, snapshots: snapshots.finish(left) }
  }

  async #live(
    read: ReadTestFile,
    chosen: readonly number[],
    base: RunFile,
    { snapshots, live }: { readonly snapshots: SnapshotFile; readonly live: URL },
  ): Promise<RunFile> {
    const gateway = new LiveGateway(live)
    const run = (each: TestCase) => runLive(each, gateway, snapshots)
    return { ...base, cases: await this.#cases(read, chosen, { skips: onlyDry, run }) }
  }

  async #dry(read: ReadTestFile, chosen: readonly number[], base: RunFile, snapshots: SnapshotFile): Promise<RunFile> {
    const { content } = read
    const config = await this.#config.of(read)
    if ('wrong' in config) return { ...base, diagnostics: [...base.diagnostics, config.wrong], broken: true }
    const { loaded, gateway } = await loadDryGateway(config.texts, this.#worldOf(read))
    const texts = [...base.texts, ...config.texts]
    if (gateway === undefined) {
      if (this.#options.bail) this.over = true
      const diagnostics = [...base.diagnostics, ...loaded.diagnostics.map(withTestFileHelp)]
      return { ...base, texts, cases: chosen.map(i => unserved(read, i)), diagnostics }
    }
    const witness = new Witness()
    const cases = await this.#cases(read, chosen, {
      skips: () => undefined,
      run: each => runCase(content, each, gateway, { seen: outcome => witness.see(outcome), snapshots }),
    })
    const { reached, unstubbed } = witness
    const uncalled = cases.length === content.cases.length ? witness.uncalled(content) : []
    return { ...base, texts, cases, ran: { snapshot: gateway.snapshot, reached, unstubbed, uncalled } }
  }

  async #cases(read: ReadTestFile, chosen: readonly number[], runner: CaseRunner): Promise<readonly RunCase[]> {
    const cases: RunCase[] = []
    for (const i of chosen) {
      if (this.over) break
      this.#tell(`${read.file}: ${cases.length} of ${chosen.length} cases`)
      const testCase = read.content.cases[i] as TestCase
      const about = aboutCase(read, i)
      const reason = testCase.skip ?? runner.skips(testCase)
      if (reason !== undefined) {
        cases.push({ ...about, state: 'skipped', reason })
        continue
      }
      const started = performance.now()
      const run = await this.#run(testCase, runner)
      cases.push({ ...about, ...run, duration: performance.now() - started })
      if (run.state === 'failed' && this.#options.bail) this.over = true
    }
    return cases
  }

  async #run(testCase: TestCase, runner: CaseRunner): Promise<Pick<RunCase, 'state' | 'wrong' | 'reason'>> {
    try {
      const wrong = await runner.run(testCase)
      return { state: wrong.length > 0 ? 'failed' : 'passed', wrong }
    } catch (error) {
      // The request cannot be made, for instance because no port is open.
      if (!(error instanceof Failure) || error.kind !== 'input') throw error
      return { state: 'failed', wrong: [], reason: error.message }
    }
  }

  #tell(text: string): void {
    const now = performance.now()
    if (now - this.#toldAt < BETWEEN) return
    this.#toldAt = now
    this.#options.progress?.(`Testing ${text}`)
  }

  #chooses({ name }: TestCase): boolean {
    const { filter, shard } = this.#options
    if (filter && !filter.test(name)) return false
    return shard === undefined || this.#seen++ % shard.of === shard.index - 1
  }

  #worldOf({ content: { env = {}, time, seed } }: ReadTestFile) {
    const own = Object.entries(env).map(([name, value]) => [name, String(value)] as const)
    return { cwd: this.#options.cwd, env: { ...this.#options.env, ...Object.fromEntries(own) }, time, seed }
  }
}

function aboutCase({ content, origins }: ReadTestFile, index: number) {
  const { name } = content.cases[index] as TestCase
  return { name, origin: origins[index] as Origin, wrong: [], duration: 0 }
}

function unserved(read: ReadTestFile, index: number): RunCase {
  return { ...aboutCase(read, index), state: 'failed', reason: 'the configuration cannot be served' }
}

/** Variables can also be set in the test file. */
function withTestFileHelp(diagnostic: Diagnostic): Diagnostic {
  return diagnostic.code === 'GW205' ? { ...diagnostic, help: 'set it under `env` of the test file' } : diagnostic
}

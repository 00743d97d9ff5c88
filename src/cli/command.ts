import { Command } from '@oclif/core/command'
import type { Config } from '@oclif/core/config'
import * as Flags from '@oclif/core/flags'
import { drawable } from '../diagnostics/ascii.ts'
import type { Paint } from '../diagnostics/paint.ts'
import { withBareKube } from './cluster-flags.ts'
import { type ColorLevel, colorLevel, paintFor } from './color.ts'
import type { Outcome } from './exit-codes.ts'
import type { OutputTarget } from './flags.ts'
import { type Io, type Output, processIo, write } from './io.ts'

/** What a command learns from the flags that every command has. */
interface CommonFlags {
  readonly 'no-color': boolean
  readonly quiet: boolean
  readonly verbose: boolean
}

/**
 * What every gwctl command is: flags and arguments by oclif, streams and surroundings by `io`, an outcome instead of
 * an exit. A command throws a Failure when it cannot do its work and never touches `process`.
 */
export abstract class GatewayCommand extends Command {
  static override baseFlags = {
    quiet: Flags.boolean({ char: 'q', summary: 'Print results only, no progress or notes.', helpGroup: 'global' }),
    verbose: Flags.boolean({ char: 'v', summary: 'Say what is being done.', helpGroup: 'global' }),
    'no-color': Flags.boolean({ summary: 'Print without colours (also NO_COLOR=1).', helpGroup: 'global' }),
  }

  protected readonly io: Io
  #common: CommonFlags = { 'no-color': false, quiet: false, verbose: false }
  #progressShown = false

  constructor(argv: string[], io: Io = processIo()) {
    super(withBareKube(argv), parserConfig)
    this.io = io
  }

  abstract override run(): Promise<Outcome>

  /** Call first thing in `run` with what `this.parse` returned, so that quiet and no-color take effect. */
  protected obey(flags: CommonFlags): void {
    this.#common = flags
  }

  /** Data, to stdout. Resolves when the reader has taken it, so that a slow pipe slows us down. */
  protected print(data: string | Uint8Array): Promise<void> {
    this.clearProgress()
    return write(this.io.stdout, typeof data === 'string' ? drawable(data, this.io.stdout, this.io.env) : data)
  }

  /** Data, to where `-o` says: stdout, or a file that it replaces. */
  protected async deliver(data: string | Uint8Array, output: OutputTarget): Promise<void> {
    if (output.path === undefined) return this.print(data)
    const { writeReport } = await import('../files/write-file.ts')
    await writeReport(output.path, data, this.io.cwd)
  }

  /** Anything that is not data, to stderr; silent with `--quiet`. */
  protected note(text: string): void {
    if (this.#common.quiet) return
    this.clearProgress()
    this.io.stderr.write(`${drawable(text, this.io.stderr, this.io.env)}\n`)
  }

  /** One line on stderr that the next one replaces; only a person at a terminal sees it. */
  protected progress(text: string): void {
    if (this.#common.quiet || this.io.stderr.isTTY !== true) return
    const width = (this.io.stderr.columns ?? 80) - 1
    this.io.stderr.write(`\r\u001B[K${text.slice(0, width)}`)
    this.#progressShown = true
  }

  protected clearProgress(): void {
    if (!this.#progressShown) return
    this.io.stderr.write('\r\u001B[K')
    this.#progressShown = false
  }

  /** Where use cases that have something to say besides say it. */
  protected told() {
    return { note: (text: string) => this.note(text) }
  }

  protected get verbose(): boolean {
    return this.#common.verbose
  }

  /** A screen that can be drawn on and a keyboard; a screen reader is better off with text. */
  protected get atTerminal(): boolean {
    const { stdin, stdout, env } = this.io
    return stdout.isTTY === true && stdin.isTTY === true && env.TERM !== 'dumb' && env.INK_SCREEN_READER !== 'true'
  }

  protected colors(stream: Output = this.io.stdout): ColorLevel {
    return colorLevel(stream, this.io.env, this.#common['no-color'])
  }

  /** What the renderers colour with; plain where `stream` takes no colours. */
  protected paint(stream: Output = this.io.stdout): Promise<Paint> {
    return paintFor(this.colors(stream))
  }
}

/**
 * The parser asks its configuration for the program's name and for hooks, of which we have none. Loading the real one
 * reads package.json and the manifest and costs 7 ms of each start.
 */
const parserConfig = {
  bin: 'gwctl',
  runHook: async () => ({ successes: [], failures: [] }),
} as unknown as Config

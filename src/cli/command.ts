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

/** The flags common to all commands. */
interface CommonFlags {
  readonly 'no-color': boolean
  readonly quiet: boolean
  readonly verbose: boolean
}

/**
 * The base of all gwctl commands: flags and arguments by oclif, streams and environment from `io`, an outcome instead
 * of an exit. A command throws a Failure if it cannot do its work, and never touches `process`.
 */
export abstract class GatewayCommand extends Command {
  static override baseFlags = {
    quiet: Flags.boolean({ char: 'q', summary: 'Print results only, no progress or notes.', helpGroup: 'global' }),
    verbose: Flags.boolean({ char: 'v', summary: 'Report each step.', helpGroup: 'global' }),
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

  /** Call first in `run` with the result of `this.parse`, so that `--quiet` and `--no-color` take effect. */
  protected obey(flags: CommonFlags): void {
    this.#common = flags
  }

  /** Prints data to stdout. Resolves when it is flushed, for back-pressure on slow pipes. */
  protected print(data: string | Uint8Array): Promise<void> {
    this.clearProgress()
    return write(this.io.stdout, typeof data === 'string' ? drawable(data, this.io.stdout, this.io.env) : data)
  }

  /** Writes data to the `-o` target: stdout, or a file, which is replaced. */
  protected async deliver(data: string | Uint8Array, output: OutputTarget): Promise<void> {
    if (output.path === undefined) return this.print(data)
    const { writeReport } = await import('../files/write-file.ts')
    await writeReport(output.path, data, this.io.cwd)
  }

  /** Prints anything but data to stderr, unless `--quiet` is set. */
  protected note(text: string): void {
    if (this.#common.quiet) return
    this.clearProgress()
    this.io.stderr.write(`${drawable(text, this.io.stderr, this.io.env)}\n`)
  }

  /** A status line on stderr, overwritten by the next one; shown on terminals only. */
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

  /** The sinks for notes and progress of use cases. */
  protected told() {
    return { note: (text: string) => this.note(text) }
  }

  protected get verbose(): boolean {
    return this.#common.verbose
  }

  /** Whether there is a screen to draw on and a keyboard. Screen readers get text instead. */
  protected get atTerminal(): boolean {
    const { stdin, stdout, env } = this.io
    return stdout.isTTY === true && stdin.isTTY === true && env.TERM !== 'dumb' && env.INK_SCREEN_READER !== 'true'
  }

  protected colors(stream: Output = this.io.stdout): ColorLevel {
    return colorLevel(stream, this.io.env, this.#common['no-color'])
  }

  /** Colours for renderers; plain if `stream` does not support them. */
  protected paint(stream: Output = this.io.stdout): Promise<Paint> {
    return paintFor(this.colors(stream))
  }
}

/**
 * The parser requires a configuration with the program's name and hooks, of which we have none. Loading the real one
 * reads package.json and the manifest, which adds 7 ms to each start.
 */
const parserConfig = {
  bin: 'gwctl',
  runHook: async () => ({ successes: [], failures: [] }),
} as unknown as Config

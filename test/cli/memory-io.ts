import { PassThrough, Writable } from 'node:stream'
import type { Io } from '../../src/cli/io.ts'

/** A terminal or a pipe that keeps what is written to it. */
export class MemoryOutput extends Writable {
  text = ''
  readonly isTTY: boolean | undefined
  readonly columns: number | undefined

  constructor(options: { isTTY?: boolean; columns?: number } = {}) {
    super({ decodeStrings: false })
    this.isTTY = options.isTTY
    this.columns = options.columns
  }

  override _write(chunk: string | Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.text += chunk.toString()
    done()
  }
}

export interface MemoryIo extends Io {
  readonly stdout: MemoryOutput
  readonly stderr: MemoryOutput
  /** Aborting it with a Failure is what a signal does. */
  readonly stop: AbortController
}

/** Surroundings of a command that touch nothing of the test's own process. */
export function memoryIo(
  options: { stdin?: string; env?: Record<string, string>; cwd?: string; terminal?: boolean } = {},
): MemoryIo {
  const stop = new AbortController()
  const stdin = new PassThrough()
  stdin.end(options.stdin ?? '')
  const screen = options.terminal === true ? { isTTY: true, columns: 80 } : {}
  return {
    stdin,
    stdout: new MemoryOutput(screen),
    stderr: new MemoryOutput(screen),
    env: options.env ?? {},
    cwd: options.cwd ?? '/',
    stop,
    interruption: () => stop.signal,
    job: { stop: async () => {}, watch: () => () => {} },
  }
}

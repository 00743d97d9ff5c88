import { Failure } from '../diagnostics/failure.ts'
import type { JobControl } from '../tools/terminal/job-control.ts'
import { processJob } from './process-job.ts'

/** A terminal says so and knows its size; a pipe, a file or a test's buffer says nothing. */
export type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  readonly rows?: number | undefined
}

export type Input = NodeJS.ReadableStream & {
  readonly isTTY?: boolean | undefined
  setRawMode?(raw: boolean): unknown
}

/** Everything a command may touch of the process around it, so that a test can run it in another one. */
export interface Io {
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  /** Absolute. Relative paths of flags and arguments start here. */
  readonly cwd: string
  /**
   * Claims SIGINT and SIGTERM for a graceful stop: the returned signal aborts with a Failure as its reason. Unclaimed,
   * they end the process at once, as does a second one.
   */
  interruption(): AbortSignal
  readonly job: JobControl
}

export function processIo(): Io {
  return {
    // Opening stdin takes as long as reading a small file; most commands never do.
    get stdin() {
      return process.stdin
    },
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    get cwd() {
      return currentDirectory()
    },
    interruption: claimSignals,
    job: processJob(),
  }
}

function currentDirectory(): string {
  try {
    return process.cwd()
  } catch (error) {
    throw new Failure('input', 'the current directory is gone.', { help: 'Change to one that exists.', cause: error })
  }
}

/** Resolves when the reader has taken the text. */
export function write(stream: Output, data: string | Uint8Array): Promise<void> {
  return new Promise(resolve => {
    // A failed write is reported by the stream's own error event, once for the whole process.
    stream.write(data, () => resolve())
  })
}

function claimSignals(): AbortSignal {
  const controller = new AbortController()
  const claim = (signal: 'SIGINT' | 'SIGTERM', failure: Failure) => {
    // Listening goes on after the first one: whoever else listens, as Ink does, would otherwise take itself for the last
    // one and end the process before it has said why.
    const stop = () => {
      if (!controller.signal.aborted) return controller.abort(failure)
      process.off(signal, stop)
      process.kill(process.pid, signal)
    }
    process.on(signal, stop)
  }
  claim('SIGINT', new Failure('interrupted', 'stopped by SIGINT'))
  claim('SIGTERM', new Failure('terminated', 'stopped by SIGTERM'))
  return controller.signal
}

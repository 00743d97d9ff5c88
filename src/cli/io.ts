import { Failure } from '../diagnostics/failure.ts'
import type { JobControl } from '../tools/terminal/job-control.ts'
import { processJob } from './process-job.ts'

/** Only a terminal has `isTTY` and a size; a pipe, a file or a test's buffer has neither. */
export type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  readonly rows?: number | undefined
}

export type Input = NodeJS.ReadableStream & {
  readonly isTTY?: boolean | undefined
  setRawMode?(raw: boolean): unknown
}

/** A command's only access to the process, so that tests can run it in their own. */
export interface Io {
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  /** Absolute. The base of relative paths in flags and arguments. */
  readonly cwd: string
  /**
   * Claims SIGINT and SIGTERM for a graceful stop: the returned signal aborts with a Failure as its reason. Otherwise,
   * and on a second signal, the process ends at once.
   */
  interruption(): AbortSignal
  readonly job: JobControl
}

export function processIo(): Io {
  return {
    // Opening stdin takes as long as reading a small file, and most commands do not need it.
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

/** Resolves when the text is flushed. */
export function write(stream: Output, data: string | Uint8Array): Promise<void> {
  return new Promise(resolve => {
    // A failed write is reported by the stream's error event, handled once for the whole process.
    stream.write(data, () => resolve())
  })
}

function claimSignals(): AbortSignal {
  const controller = new AbortController()
  const claim = (signal: 'SIGINT' | 'SIGTERM', failure: Failure) => {
    // Keep listening after the first signal: other listeners, such as Ink, would otherwise see themselves as the last
    // one and end the process before the reason is printed.
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

import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import type { Exchange } from '../../../http/exchange.ts'
import { type Request, type RequestId, readMessage } from '../../../mcp/message.ts'
import type { Clock, Logger } from '../../../runtime/runtime.ts'
import {
  type CallEvents,
  type Cancel,
  type Connection,
  type ListenEvents,
  MAX_MESSAGE,
  type TargetFailure,
} from '../connection.ts'
import { SharedChannel } from '../shared-channel.ts'
import { LineReader } from './line-reader.ts'

export interface StdioProgram {
  readonly cmd: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly clearEnv: boolean
}

export interface StdioOptions {
  readonly target: string
  readonly clock: Clock
  readonly log: Logger
  /** The process exited by itself. */
  readonly onDown: (failure: TargetFailure) => void
}

/** Grace period in ms before each more forceful signal. */
const GRACE = 2000
/** Bytes that the program has not read yet. */
const MAX_BACKLOG = 16 * 1024 * 1024
const MAX_LOG_LINE = 8 * 1024

/** The program of one session, with line-delimited JSON-RPC on its standard input and output. */
export class StdioConnection implements Connection {
  readonly session = undefined
  version: string | undefined
  readonly #options: StdioOptions
  readonly #channel = new SharedChannel({
    pause: () => this.#child.stdout.pause(),
    resume: () => this.#child.stdout.resume(),
  })
  readonly #child: ChildProcessWithoutNullStreams
  #down: TargetFailure | undefined
  #closing = false

  constructor(program: StdioProgram, options: StdioOptions) {
    this.#options = options
    const { spawn } = process.getBuiltinModule('node:child_process')
    const child = spawn(program.cmd, [...program.args], {
      env: program.clearEnv ? { ...program.env } : { ...process.env, ...program.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      // In a process group of its own: launchers such as npx leave the server running if only they are killed.
      detached: process.platform !== 'win32',
      windowsHide: true,
    })
    this.#child = child
    const lines = new LineReader(
      MAX_MESSAGE,
      line => this.#receive(line),
      start => this.#oversize(start),
    )
    child.stdout.on('data', (chunk: Buffer) => lines.push(chunk))
    this.#logErrors()
    // Write errors after the program has ended are covered by its exit.
    child.stdin.on('error', () => {})
    child.on('error', error => this.#end(`failed to start stdio server: ${startProblem(error)}`))
    // Processes that the program left behind are killed too, which closes the output.
    child.on('exit', () => this.#signal('SIGKILL'))
    child.on('close', (code, signal) => this.#end(`the stdio server ended (${signal ?? `exit code ${code}`})`))
  }

  call(_x: Exchange, request: Request, events: CallEvents): Cancel {
    if (!this.#usable(failure => events.fail(failure))) return () => {}
    if (!this.#channel.add(request, events)) {
      events.fail({ message: 'a request with this id is in progress', down: false })
      return () => {}
    }
    this.#write(request.bytes)
    return told => {
      if (!this.#channel.remove(request.id) || told || request.method === 'initialize') return
      this.#write(cancellation(request.id))
    }
  }

  send(_x: Exchange, bytes: Buffer, done: (failure?: TargetFailure) => void): void {
    if (!this.#usable(done)) return
    this.#write(bytes)
    done()
  }

  listen(_x: Exchange, events: ListenEvents): () => void {
    if (this.#down) {
      events.end(this.#down)
      return () => {}
    }
    return this.#channel.listen(events)
  }

  /** Ends the program as MCP prescribes: close its input, then SIGTERM, then SIGKILL. */
  close(): Promise<void> | undefined {
    if (this.#closing || this.#down) return undefined
    this.#closing = true
    this.#child.stdin.end()
    const { clock } = this.#options
    let timer = clock.after(GRACE, () => {
      this.#signal('SIGTERM')
      timer = clock.after(GRACE, () => this.#signal('SIGKILL'))
    })
    return new Promise(resolve => {
      this.#child.once('close', () => {
        timer.cancel()
        resolve()
      })
    })
  }

  #usable(fail: (failure: TargetFailure) => void): boolean {
    if (this.#down || this.#closing) fail(this.#down ?? { message: 'the session has ended', down: true })
    else if (this.#child.stdin.writableLength > MAX_BACKLOG) {
      fail({ message: 'the stdio server does not read its input', down: false })
    } else return true
    return false
  }

  #write(bytes: Buffer): void {
    if (this.#down || this.#closing) return
    // In one write, so that the program wakes up once.
    this.#child.stdin.write(lineOf(bytes))
  }

  #receive(line: Buffer): void {
    const message = readMessage(line)
    if (message.kind === 'unreadable') {
      this.#options.log.log('warn', 'ignored a line of a stdio server', {
        target: this.#options.target,
        problem: message.problem,
      })
      this.#failAt(line, `the stdio server sent a reply that cannot be read: ${message.problem}`)
      return
    }
    this.#channel.deliver(message)
  }

  #oversize(start: Buffer): void {
    this.#options.log.log('warn', 'dropped an oversized line of a stdio server', { target: this.#options.target })
    this.#failAt(start, `the stdio server sent a message of more than ${MAX_MESSAGE} bytes`)
  }

  /** Fails the call whose reply was dropped, if the start of the line identifies it. */
  #failAt(line: Buffer, message: string): void {
    const id = idAtStart(line.subarray(0, 4096))
    if (id !== undefined) this.#channel.fail(id, { message, down: false })
  }

  #end(message: string): void {
    if (this.#down) return
    this.#down = { message, down: true }
    this.#channel.failAll(this.#down)
    if (this.#closing) return
    this.#options.log.log('error', message, { target: this.#options.target })
    this.#options.onDown(this.#down)
  }

  #signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    const { pid } = this.#child
    if (pid === undefined) return
    try {
      if (process.platform === 'win32') this.#child.kill(signal)
      else process.kill(-pid, signal)
    } catch {
      // The group is already gone.
    }
  }

  #logErrors(): void {
    const { log, target } = this.#options
    const lines = new LineReader(
      MAX_LOG_LINE,
      line => log.log('info', line.toString(), { target, stream: 'stderr' }),
      start => log.log('info', `${start.toString()}…`, { target, stream: 'stderr' }),
    )
    this.#child.stderr.on('data', (chunk: Buffer) => lines.push(chunk))
  }
}

const LINE_SEPARATOR = Buffer.from('\u2028')
const PARAGRAPH_SEPARATOR = Buffer.from('\u2029')

const LINE_FEED = Buffer.from('\n')

/** Separators are valid in JSON, but Node's line reader, among others, ends a line at them. */
function lineOf(bytes: Buffer): Buffer | string {
  if (!bytes.includes(LINE_SEPARATOR) && !bytes.includes(PARAGRAPH_SEPARATOR)) return Buffer.concat([bytes, LINE_FEED])
  return `${bytes.toString().replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}\n`
}

function cancellation(requestId: RequestId): Buffer {
  const params = { requestId, reason: 'the client disconnected' }
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }))
}

/** Servers write the id before the result, which is the long part. */
function idAtStart(start: Buffer): RequestId | undefined {
  const found = /"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")/.exec(start.toString())
  return found ? (JSON.parse(found[1] as string) as RequestId) : undefined
}

function startProblem(error: Error): string {
  const code = 'code' in error ? error.code : undefined
  if (code === 'ENOENT') return 'no such program'
  return code === 'EACCES' ? 'permission denied' : 'the program cannot be started'
}

import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { cannotRead, cannotWrite, Failure } from '../../diagnostics/failure.ts'
import { type AdminServer, openTrace, type TraceConnection, type TraceRequest } from '../admin/admin-client.ts'
import { type InputPlace, nameOf, statFile } from '../input/input-files.ts'
import { createEventReader } from './events.ts'
import { type Link, openLastingTrace } from './lasting-trace.ts'

/** The JSON text of each event, from any source. Throws a Failure if it ends early. */
export interface Recording {
  readonly texts: AsyncIterable<string>
  /** For display: `http://127.0.0.1:15000`, `trace.jsonl`. */
  readonly name: string
  /** The machine of a running gateway. */
  readonly host?: string
  /** Set for a recording that waits for a lost gateway. */
  readonly link?: Link
  close(): void
}

const LIMITS = { requests: 1000, seconds: 3600 }

/** Throws a Failure `usage` for an invalid expression, before a gateway is contacted. */
export async function checkExpression(text: string | undefined): Promise<void> {
  if (text === undefined || text.trim() === '') return
  const { createCelCompiler } = await import('../../cel/compiler.ts')
  const compiled = createCelCompiler().compile(text, 'request', 'bool')
  if (!('problem' in compiled)) return
  const { message, help } = compiled.problem
  throw new Failure('usage', `--where: invalid expression: ${message}`, help === undefined ? {} : { help })
}

/**
 * Converts the flags of `gwctl trace` to a request. `always` follows without a flag. `own`: a further condition on the
 * request. Throws a Failure `usage`.
 */
export function traceRequest(
  flags: {
    readonly where?: string | undefined
    readonly follow: boolean
    readonly limit?: number | undefined
    readonly for?: number | undefined
  },
  always: boolean,
  own?: string,
): TraceRequest {
  const seconds = flags.for === undefined ? LIMITS.seconds : Math.max(1, Math.ceil(flags.for / 1000))
  if (seconds > LIMITS.seconds) throw new Failure('usage', 'a trace follows for at most 1h: it makes requests slower.')
  const follow = always || flags.follow || flags.limit !== undefined || flags.for !== undefined
  // As from an unset shell variable: it would select every request.
  if (flags.where?.trim() === '') throw new Failure('usage', '--where is empty: it takes an expression.')
  const conditions = [
    ...(flags.where === undefined ? [] : [own === undefined ? flags.where : `(${flags.where})`]),
    ...(own === undefined ? [] : [own]),
  ]
  return {
    ...(conditions.length === 0 ? {} : { expression: conditions.join(' && ') }),
    ...(follow ? { follow: { requests: flags.limit ?? LIMITS.requests, seconds } } : {}),
  }
}

export interface LiveOptions {
  /** Fail after so many ms without a request. */
  readonly wait?: number | undefined
  /** Resolves when the watched request has been answered: it is a failure if no event has arrived by then. */
  readonly answered?: Promise<void> | undefined
  /**
   * Several requests are followed across restarts of the gateway. A single one is not: another may not be the intended
   * one.
   */
  readonly lasting: boolean
}

/** The events of a running gateway from now on; resolves once it is watching. */
export async function liveRecording(
  admin: AdminServer,
  request: TraceRequest,
  options: LiveOptions,
): Promise<Recording> {
  const { follow } = request
  const connection: TraceConnection & { readonly link?: Link } =
    options.lasting && follow ? await openLastingTrace(admin, { ...request, follow }) : await openTrace(admin, request)
  const { host } = admin
  const { link } = connection
  return {
    texts: untilEnd(connection, nameWithoutScheme(admin), options),
    // With several pods it may have changed by then.
    get name() {
      return nameWithoutScheme(admin)
    },
    ...(host && { host }),
    ...(link && { link }),
    close: () => connection.close(),
  }
}

function nameWithoutScheme({ name }: AdminServer): string {
  return name.replace(/^http:\/\//, '')
}

/** Also writes every event of a recording to a file, one JSON text per line. Throws a Failure `input`. */
export async function kept(recording: Recording, path: string, cwd: string): Promise<Recording> {
  try {
    const file = await fileFor(path, cwd)
    // The name of the source may change later.
    return Object.create(recording, { texts: { value: writtenTo(recording.texts, file, path) } }) as Recording
  } catch (error) {
    recording.close()
    throw error
  }
}

/** Creates an empty file. Throws a Failure `input`. */
export function fileFor(path: string, cwd: string): Promise<FileHandle> {
  return open(resolve(cwd, path), 'w').catch(error => {
    throw cannotWrite(path, error)
  })
}

/** Throws a Failure `input`: the disk may be full. */
export function appendTo(file: FileHandle, path: string, text: string): Promise<void> {
  return file.appendFile(text).catch(error => {
    throw cannotWrite(path, error)
  })
}

async function* writtenTo(texts: AsyncIterable<string>, file: FileHandle, path: string): AsyncGenerator<string> {
  try {
    for await (const text of texts) {
      await appendTo(file, path, `${text}\n`)
      yield text
    }
  } finally {
    await file.close()
  }
}

/** A saved trace: JSON Lines, or a stream in the admin server's format. `-` is stdin, streamed. */
export function savedRecording(path: string, place: InputPlace): Recording {
  let input: NodeJS.ReadableStream | undefined
  // Opened by its reader, since nothing else would get the error.
  const open = () => {
    input = path === '-' ? place.stdin : openedFile(path, resolve(place.cwd, path))
    return input
  }
  return {
    texts: linesOf(open, nameOf(path)),
    name: nameOf(path),
    close: () => void (input as Partial<Readable> | undefined)?.destroy?.(),
  }
}

/** ms that an event may lag behind the response to its request. */
const LATE_MS = 1000

async function* untilEnd(
  connection: TraceConnection,
  name: string,
  { wait, answered }: LiveOptions,
): AsyncGenerator<string> {
  let problem: Failure | undefined
  const timers = new Set<NodeJS.Timeout>()
  const patient = () => {
    for (const timer of timers) clearTimeout(timer)
    timers.clear()
  }
  const giveUp = (ms: number, failure: Failure) => {
    const give = () => {
      problem = failure
      connection.close()
    }
    timers.add(setTimeout(give, ms))
  }
  let waiting = true
  if (wait !== undefined) giveUp(wait, noRequest(name))
  answered?.then(() => waiting && giveUp(LATE_MS, notSeen(name)))
  try {
    for (;;) {
      const next = await connection.events.next()
      if (problem) throw problem
      if (next.done === true) {
        if (next.value === 'filter') throw tooCostly(name)
        if (next.value === 'shutdown') throw new Failure('unreachable', `the gateway at ${name} is shutting down.`)
        return
      }
      waiting = false
      patient()
      yield next.value
    }
  } finally {
    waiting = false
    patient()
    connection.close()
  }
}

function noRequest(name: string): Failure {
  return new Failure('timeout', `no request came to ${name} in time.`, {
    help: 'Send one, or wait longer with --wait.',
  })
}

function notSeen(name: string): Failure {
  return new Failure('timeout', `the request is over, and ${name} has not seen it.`, {
    help: 'Is it the gateway that serves that address, and does --where let it pass?',
  })
}

function tooCostly(name: string): Failure {
  return new Failure('usage', `${name} has ended the trace: its expression took too much of the requests' time.`, {
    help: 'Write a simpler one for --where.',
  })
}

function openedFile(name: string, path: string): NodeJS.ReadableStream {
  statFile(name, path)
  return createReadStream(path)
}

async function* linesOf(open: () => NodeJS.ReadableStream, name: string): AsyncGenerator<string> {
  let found = false
  const reader = createEventReader()
  try {
    for await (const line of createInterface({ input: open(), crlfDelay: Number.POSITIVE_INFINITY })) {
      const text = line.replace(/^data: ?/, '').trim()
      if (!text.startsWith('{')) continue
      found ||= reader.read(text) !== undefined
      yield text
    }
  } catch (error) {
    throw error instanceof Failure ? error : cannotRead(name, error)
  }
  if (!found) throw holdsNoEvents(name)
}

export function holdsNoEvents(name: string): Failure {
  return new Failure('input', `${name} holds no trace events.`, { help: 'Save some with `gwctl trace --raw > FILE`.' })
}

import { FrameReader } from '../../../calls/grpc-frames.ts'
import type { BodyHook } from '../../../calls/step.ts'
import type { Exchange } from '../../../http/exchange.ts'
import { keepChunk } from '../../../http/keep-chunk.ts'
import { SseReader } from '../../../http/sse.ts'
import { type TaskFacts, taskFacts } from '../../../protobuf/a2a.ts'
import type { A2aCall } from './methods.ts'

/** Maximum bytes of a response, or of one event, that are parsed; longer ones pass unparsed. */
const LONGEST = 256 * 1024

/** Records the task state in a response, or in each event of a stream. The bytes pass unchanged. */
export function taskStates(x: Exchange, { method, binding }: A2aCall): BodyHook | undefined {
  const type = x.response?.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const coding = x.response?.headers.get('content-encoding')
  if (coding !== undefined && coding !== 'identity') return undefined
  if (type === 'text/event-stream') return eventStates(x)
  if (binding === 'grpc' || binding === 'grpc 0.3') return TASKS[method] && messageStates(x, TASKS[method])
  return type === 'application/json' || type.endsWith('+json') ? replyState(x) : undefined
}

function eventStates(x: Exchange): BodyHook {
  let reader: SseReader | undefined = new SseReader(LONGEST, ({ data }) => note(x, stateIn(data)))
  return {
    chunk(data) {
      try {
        reader?.push(data)
      } catch {
        reader = undefined
      }
      return data
    },
    end: () => undefined,
  }
}

/** The response types of these methods, over gRPC. */
const TASKS: Readonly<Record<string, 'task' | 'reply'>> = {
  SendMessage: 'reply',
  SendStreamingMessage: 'reply',
  SubscribeToTask: 'reply',
  TaskSubscription: 'reply',
  GetTask: 'task',
  CancelTask: 'task',
}

function messageStates(x: Exchange, form: 'task' | 'reply'): BodyHook {
  let reader: FrameReader | undefined = new FrameReader(LONGEST)
  return {
    chunk(data) {
      try {
        reader?.push(data)
        for (let next = reader?.next(); next; next = reader?.next()) {
          if (!Buffer.isBuffer(next)) throw new Error(next.problem)
          note(x, taskFacts(next, form === 'task'))
        }
      } catch {
        reader = undefined
      }
      return data
    },
    end: () => undefined,
  }
}

function replyState(x: Exchange): BodyHook {
  const chunks: Buffer[] = []
  let size = 0
  return {
    chunk(data) {
      size += data.length
      if (size <= LONGEST) keepChunk(chunks, data)
      else chunks.length = 0
      return data
    },
    end() {
      if (size > 0 && size <= LONGEST) note(x, stateIn(Buffer.concat(chunks, size)))
      return undefined
    },
  }
}

function note(x: Exchange, found: Found | undefined): void {
  const { a2a } = x
  if (!a2a || !found) return
  const { task = a2a.task, state, error } = found
  if (task === a2a.task && state === a2a.state && error === a2a.error) return
  a2a.task = task
  if (state !== undefined) a2a.state = state
  a2a.error = error
  const { method } = a2a
  x.trace?.emit({
    type: 'a2a',
    method: method ?? '',
    ...(task === undefined ? {} : { task }),
    ...(state === undefined ? {} : { state }),
    ...(error === undefined ? {} : { error }),
  })
}

interface Found extends TaskFacts {
  /** JSON-RPC error code. */
  readonly error?: number
}

/** Flat with `kind` in A2A 0.3, one of several members in 1.0; not wrapped in JSON-RPC over HTTP+JSON. */
function stateIn(json: Buffer): Found | undefined {
  let whole: unknown
  try {
    whole = JSON.parse(json.toString())
  } catch {
    return undefined
  }
  if (!isRecord(whole)) return undefined
  const code = isRecord(whole.error) ? whole.error.code : undefined
  if (typeof code === 'number') return { task: undefined, state: undefined, error: code }
  const reply = isRecord(whole.result) ? whole.result : whole
  const said = [reply.task, reply.statusUpdate, reply.artifactUpdate].find(isRecord) ?? reply
  const state = isRecord(said.status) ? said.status.state : undefined
  const task = said.taskId ?? (said.status === undefined ? undefined : said.id)
  if (typeof state !== 'string' && typeof task !== 'string') return undefined
  return { task: short(task), state: short(state) }
}

function short(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, 128) : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

import { Failure } from '../../diagnostics/failure.ts'
import { HeaderList } from '../../http/headers.ts'
import type { HeadSnapshot } from '../../trace/trace-event.ts'
import { createEventReader, type ReadEvent } from '../events/events.ts'
import { holdsNoEvents } from '../events/recording.ts'
import { type InputPlace, MAX_RECORDED, nameOf, readInput } from '../input/input-files.ts'
import { type EvalState, stateOf } from './state.ts'

/** The state at one event of a recorded trace: `FILE#SEQ`, or its last event. Throws a Failure `input`. */
export async function recordedState(
  place: string,
  given: Readonly<Record<string, unknown>>,
  io: InputPlace,
): Promise<EvalState> {
  const [, file = place, number] = /^(.*)#(\d+)$/s.exec(place) ?? []
  const reader = createEventReader()
  const { text } = await readInput(file, io, MAX_RECORDED)
  const events = text.split('\n').flatMap(line => (line.trim() === '' ? [] : (reader.read(line) ?? [])))
  const seq = number === undefined ? undefined : Number(number)
  const at = seq === undefined ? events.length - 1 : events.findIndex(event => event.seq === seq)
  const event = events[at]
  if (events.length === 0) throw holdsNoEvents(nameOf(file))
  if (event === undefined) {
    throw new Failure('input', `${file} has no event ${seq}.`, {
      help: `It has ${events.length}, from ${events[0]?.seq} on. gwctl trace -f ${file} lists them.`,
    })
  }
  const own = events.slice(0, at + 1).filter(each => {
    return each.request === event.request && each.worker === event.worker && each.stream === event.stream
  })
  return stateAt(own, given)
}

/** The state after the last of these events, which belong to one request. */
export function stateAt(events: readonly ReadEvent[], given: Readonly<Record<string, unknown>>): EvalState {
  const messages = events.map(({ message }) => message)
  const started = messages.find(message => message.type === 'requestStarted')
  const heads = messages.flatMap(message => (message.type === 'snapshot' ? [message.state] : []))
  const request = heads.findLast(({ status }) => status === undefined)
  const response = heads.findLast(({ status }) => status !== undefined)
  const body = messages.findLast(message => message.type === 'body' && /request/.test(message.stage))
  const time = started?.type === 'requestStarted' ? Date.parse(started.time) : 0
  const state = stateOf(
    {
      method: request?.method ?? (started?.type === 'requestStarted' ? started.method : 'GET'),
      url: request?.url ?? (started?.type === 'requestStarted' ? started.url : '/'),
      headers: request?.headers ?? [],
      body: body?.type === 'body' ? Buffer.from(body.base64, 'base64') : undefined,
      source: started?.type === 'requestStarted' ? started.source.replace(/:\d+$/, '') : undefined,
      jwt: request?.jwt,
      apiKey: request?.apiKey,
    },
    time,
    {},
  )
  const extra = {
    ...state.extra,
    ...(response ? { response: responseOf(response) } : {}),
    ...(request?.basicAuth ? { basicAuth: request.basicAuth } : {}),
    ...factsOf(messages),
    ...given,
  }
  return { ...state, extra }
}

function responseOf({ status = 0, headers }: HeadSnapshot) {
  const list = new HeaderList()
  for (const [name, value] of headers) list.append(name, value)
  return { status, headers: list }
}

/** Variables known from other events; the rest is not in a trace. */
function factsOf(messages: readonly ReadEvent['message'][]): Readonly<Record<string, unknown>> {
  const out: Record<string, unknown> = {}
  for (const message of messages) {
    if (message.type === 'backend') out.backend ??= { name: message.backend }
    if (message.type === 'llm') {
      const { provider, model, streaming, inputTokens, outputTokens } = message
      out.llm = defined({ provider, requestModel: model, streaming, inputTokens, outputTokens })
    }
    if (message.type === 'mcp') {
      const { method, target, name } = message
      const kind = /^(tool|prompt|resource)s?\//.exec(method)?.[1]
      out.mcp = defined({ methodName: method, ...(kind && name ? { [kind]: defined({ name, target }) } : {}) })
    }
  }
  return out
}

function defined(fields: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

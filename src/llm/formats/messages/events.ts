import type { ChatEvent, ChatUsage, OpenEvent, StopReason } from '../../chat/chat.ts'
import type { EventReader, EventWriter, RawEvent, ReplyFacts } from '../../chat/codec.ts'
import { errorOf } from '../../chat/errors.ts'
import { isObject, type JsonObject, labelOf, objectOf, textOf } from '../../chat/json.ts'
import { findUnread } from '../../chat/members.ts'
import { cutStream, OpenParts, parseEvent } from '../../chat/open-parts.ts'
import { anthropicErrors, decodeError } from './errors.ts'
import { EVENT } from './members.ts'
import { readUsage, stopNameOf, stopOf, writeUsage } from './reply.ts'

const KINDS: Readonly<Record<string, OpenEvent['kind']>> = {
  text: 'text',
  thinking: 'reasoning',
  redacted_thinking: 'redacted',
  tool_use: 'toolCall',
}

const EVENTS: ReadonlySet<unknown> = new Set([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'message_delta',
])

export class MessagesReader implements EventReader {
  readonly #parts = new OpenParts()
  /** Counts from the start apply where the end omits them. */
  #usage: JsonObject = {}
  #over = false

  read({ data }: RawEvent): readonly ChatEvent[] {
    if (this.#over) return []
    const event = parseEvent(data)
    if (!isObject(event)) return []
    const out: ChatEvent[] = []
    this.#unread(event, out)
    switch (event.type) {
      case 'message_start':
        this.#start(objectOf(event.message), out)
        break
      case 'content_block_start':
        this.#open(labelOf(event.index), objectOf(event.content_block), out)
        break
      case 'content_block_delta':
        this.#delta(labelOf(event.index), objectOf(event.delta), out)
        break
      case 'content_block_stop':
        this.#parts.close(labelOf(event.index), out)
        break
      case 'message_delta':
        this.#messageDelta(event, out)
        break
      case 'message_stop':
        this.#over = true
        this.#parts.closeAll(out)
        out.push({ type: 'end' })
        break
      case 'error':
        this.#over = true
        out.push({ type: 'error', error: errorOf(undefined, decodeError(event)) })
        break
      case 'ping':
        break
      default:
        out.push({ type: 'lost', path: labelOf(event.type) })
    }
    return out
  }

  #unread(event: JsonObject, out: ChatEvent[]): void {
    const { index } = event
    const lost = (path: string): void => {
      const at = path.replace(/^(?:content_block|delta|message)\./, '')
      out.push({ type: 'lost', path: index === undefined ? at : `content[${labelOf(index)}].${at}` })
    }
    // What belongs to a block that is lost is lost with it.
    const known =
      index === undefined || event.type === 'content_block_start' || this.#parts.get(labelOf(index)) !== undefined
    if (known && EVENTS.has(event.type)) findUnread(event, EVENT, '', lost)
  }

  end(): readonly ChatEvent[] {
    if (this.#over) return []
    this.#over = true
    return [cutStream()]
  }

  #start(message: JsonObject, out: ChatEvent[]): void {
    const id = textOf(message.id)
    const model = textOf(message.model)
    out.push({ type: 'start', ...(id ? { id } : {}), ...(model ? { model } : {}) })
    this.#count(message.usage, out)
  }

  #count(value: unknown, out: ChatEvent[]): void {
    if (!isObject(value)) return
    for (const name in value) if (value[name] !== null && value[name] !== undefined) this.#usage[name] = value[name]
    const usage = readUsage(this.#usage)
    if (usage) out.push({ type: 'usage', usage })
  }

  #open(key: string, block: JsonObject, out: ChatEvent[]): void {
    const type = textOf(block.type) ?? ''
    const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined
    if (kind === undefined) {
      out.push({ type: 'lost', path: `content[${key}]`, what: `\`${type}\`` })
      return
    }
    const id = textOf(block.id)
    const name = textOf(block.name)
    const part = this.#parts.open(key, kind, 0, out, { ...(id ? { id } : {}), ...(name ? { name } : {}) })
    const text = textOf(block.text) || textOf(block.thinking) || textOf(block.data)
    if (text) out.push({ type: 'delta', part, text })
    const signature = textOf(block.signature)
    if (signature) out.push({ type: 'signature', part, signature })
    if (isObject(block.input) && Object.keys(block.input).length > 0) {
      out.push({ type: 'delta', part, text: JSON.stringify(block.input) })
    }
  }

  #delta(key: string, delta: JsonObject, out: ChatEvent[]): void {
    const part = this.#parts.get(key)
    if (part === undefined) return
    if (delta.type === 'signature_delta') {
      const signature = textOf(delta.signature)
      if (signature) out.push({ type: 'signature', part, signature })
      return
    }
    if (delta.type === 'citations_delta') {
      out.push({ type: 'lost', path: `content[${key}].citations`, what: 'citations' })
      return
    }
    const text = textOf(delta.text) ?? textOf(delta.thinking) ?? textOf(delta.partial_json)
    if (text) out.push({ type: 'delta', part, text })
  }

  #messageDelta(event: JsonObject, out: ChatEvent[]): void {
    this.#count(event.usage, out)
    const { stop_reason: stop, stop_sequence: sequence } = objectOf(event.delta)
    if (typeof stop !== 'string') return
    this.#parts.closeAll(out)
    const { stop: reason, ...rest } = stopOf(stop)
    out.push({ type: 'stop', choice: 0, reason, ...rest, ...(typeof sequence === 'string' ? { sequence } : {}) })
  }
}

interface Waiting {
  readonly open: OpenEvent
  readonly events: ChatEvent[]
  closed: boolean
}

/** Blocks must not overlap in this format: those that open while another is open wait for its end. */
export class MessagesWriter implements EventWriter {
  readonly #facts: ReplyFacts
  readonly #waiting = new Map<number, Waiting>()
  #current: OpenEvent | undefined
  #index = -1
  #started = false
  #stop: StopReason = 'other'
  #sequence: string | undefined
  #refused = false
  #usage: ChatUsage = {}

  constructor(facts: ReplyFacts) {
    this.#facts = facts
  }

  write(event: ChatEvent): string {
    switch (event.type) {
      case 'start':
        return this.#start(event.id, event.model)
      case 'open':
        return event.choice === 0 ? this.#start() + this.#open(event) : ''
      case 'delta':
      case 'signature':
      case 'close':
        return this.#part(event)
      case 'stop':
        if (event.choice !== 0) return ''
        this.#stop = event.reason
        this.#sequence = event.sequence
        return ''
      case 'usage':
        this.#usage = event.usage
        return ''
      case 'error':
        return this.#start() + anthropicErrors.event(event.error)
      case 'end':
        return this.#start() + this.#end()
      default:
        return ''
    }
  }

  #start(id = this.#facts.id, model = this.#facts.model): string {
    if (this.#started) return ''
    this.#started = true
    const usage = writeUsage(this.#usage)
    const message = {
      id,
      type: 'message',
      role: 'assistant',
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    }
    return sse('message_start', { type: 'message_start', message })
  }

  #open(event: OpenEvent): string {
    if (event.kind === 'refusal') this.#refused = true
    if (this.#current) {
      this.#waiting.set(event.part, { open: event, events: [], closed: false })
      return ''
    }
    this.#current = event
    this.#index++
    if (event.kind === 'redacted') return ''
    return sse('content_block_start', {
      type: 'content_block_start',
      index: this.#index,
      content_block: blockOf(event),
    })
  }

  #part(event: Extract<ChatEvent, { type: 'delta' | 'signature' | 'close' }>): string {
    const current = this.#current
    if (current?.part !== event.part) {
      const waiting = this.#waiting.get(event.part)
      waiting?.events.push(event)
      if (waiting && event.type === 'close') waiting.closed = true
      return ''
    }
    if (event.type === 'delta') return this.#delta(current, event.text)
    if (event.type === 'signature') return this.#signature(current, event.signature)
    return this.#close() + this.#next()
  }

  #delta({ kind }: OpenEvent, text: string): string {
    if (kind === 'redacted') {
      const block = { type: 'redacted_thinking', data: text }
      return sse('content_block_start', { type: 'content_block_start', index: this.#index, content_block: block })
    }
    const delta =
      kind === 'toolCall'
        ? { type: 'input_json_delta', partial_json: text }
        : kind === 'reasoning'
          ? { type: 'thinking_delta', thinking: text }
          : { type: 'text_delta', text }
    return sse('content_block_delta', { type: 'content_block_delta', index: this.#index, delta })
  }

  #signature({ kind }: OpenEvent, signature: string): string {
    if (kind !== 'reasoning') return ''
    const delta = { type: 'signature_delta', signature }
    return sse('content_block_delta', { type: 'content_block_delta', index: this.#index, delta })
  }

  #close(): string {
    this.#current = undefined
    return sse('content_block_stop', { type: 'content_block_stop', index: this.#index })
  }

  /** Writes the waiting blocks, up to one that is still open. */
  #next(): string {
    let out = ''
    for (const [part, { open, events }] of this.#waiting) {
      if (this.#current) break
      this.#waiting.delete(part)
      out += this.#open(open)
      for (const event of events) out += this.#part(event as Extract<ChatEvent, { type: 'delta' }>)
    }
    return out
  }

  #end(): string {
    let out = ''
    while (this.#current) out += this.#close() + this.#next()
    const delta = {
      stop_reason: this.#refused ? 'refusal' : stopNameOf(this.#stop),
      stop_sequence: this.#sequence ?? null,
    }
    out += sse('message_delta', { type: 'message_delta', delta, usage: writeUsage(this.#usage) })
    return out + sse('message_stop', { type: 'message_stop' })
  }
}

function blockOf({ kind, id = '', name = '' }: OpenEvent): JsonObject {
  if (kind === 'toolCall') return { type: 'tool_use', id, name, input: {} }
  return kind === 'reasoning' ? { type: 'thinking', thinking: '', signature: '' } : { type: 'text', text: '' }
}

function sse(name: string, value: JsonObject): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`
}

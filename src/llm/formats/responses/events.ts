import type { ChatEvent, ChatUsage, OpenEvent, StopReason, TokenLogprob } from '../../chat/chat.ts'
import type { EventReader, EventWriter, RawEvent, ReplyFacts } from '../../chat/codec.ts'
import { errorOf } from '../../chat/errors.ts'
import { isObject, type JsonObject, labelOf, listOf, numberOf, objectOf, textOf } from '../../chat/json.ts'
import { findUnread, type Member } from '../../chat/members.ts'
import { cutStream, OpenParts, parseEvent } from '../../chat/open-parts.ts'
import { decodeError, encodeError } from '../completions/errors.ts'
import { readLogprobs } from '../completions/reply.ts'
import { readReasoningItem } from './decode-request.ts'
import { REPLY, SILENT } from './members.ts'
import { begun, contentPart, finished, messageItem, readUsage, reasoningItem, stopOf } from './reply.ts'

const DELTAS: Readonly<Record<string, 'text' | 'refusal' | 'reasoning'>> = {
  'response.output_text.delta': 'text',
  'response.refusal.delta': 'refusal',
  'response.reasoning_text.delta': 'reasoning',
  'response.reasoning_summary_text.delta': 'reasoning',
}
const WHOLE: Readonly<Record<string, readonly [kind: 'text' | 'refusal' | 'reasoning', member: string]>> = {
  'response.output_text.done': ['text', 'text'],
  'response.refusal.done': ['refusal', 'refusal'],
  'response.reasoning_text.done': ['reasoning', 'text'],
  'response.reasoning_summary_text.done': ['reasoning', 'text'],
}

export class ResponsesReader implements EventReader {
  readonly #parts = new OpenParts()
  /** How much of each part has been sent, so that the whole text at its end is not sent again. */
  readonly #sent = new Map<number, number>()
  /** Indexes of the items that have begun. */
  readonly #seen = new Set<unknown>()
  #calls = false
  #refused = false
  #started = false
  #over = false

  read({ data }: RawEvent): readonly ChatEvent[] {
    if (this.#over) return []
    if (data === '[DONE]') return this.end()
    const event = parseEvent(data)
    if (!isObject(event) || typeof event.type !== 'string') return []
    const out: ChatEvent[] = []
    this.#read(event, event.type, out)
    return out
  }

  end(): readonly ChatEvent[] {
    if (this.#over) return []
    this.#over = true
    return [cutStream()]
  }

  #read(event: JsonObject, type: string, out: ChatEvent[]): void {
    const kind = Object.hasOwn(DELTAS, type) ? DELTAS[type] : undefined
    const whole = Object.hasOwn(WHOLE, type) ? WHOLE[type] : undefined
    if (kind) this.#text(event, kind, textOf(event.delta) ?? '', out)
    else if (whole) this.#rest(event, whole[0], textOf(event[whole[1]]) ?? '', out)
    else this.#step(event, type, out)
  }

  #step(event: JsonObject, type: string, out: ChatEvent[]): void {
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        this.#start(objectOf(event.response), out)
        break
      case 'response.output_item.added':
        this.#item(event, objectOf(event.item), out)
        break
      case 'response.output_item.done':
        this.#itemDone(event, objectOf(event.item), out)
        break
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        this.#arguments(event, textOf(event.delta) ?? '', out)
        break
      case 'response.output_text.annotation.added':
        out.push({ type: 'lost', path: `output[${labelOf(event.output_index)}].annotations`, what: 'citations' })
        break
      case 'response.completed':
      case 'response.incomplete':
        this.#finish(objectOf(event.response), out)
        break
      case 'response.failed':
        this.#fail(objectOf(event.response), out)
        break
      case 'error':
        this.#fail({ error: isObject(event.error) ? event.error : event }, out)
        break
      default:
        if (!SILENT.test(type)) out.push({ type: 'lost', path: type })
    }
  }

  #start(response: JsonObject, out: ChatEvent[]): void {
    if (this.#started) return
    this.#started = true
    const id = textOf(response.id)
    const model = textOf(response.model)
    const created = numberOf(response.created_at)
    out.push({ type: 'start', ...(id ? { id } : {}), ...(model ? { model } : {}), ...(created ? { created } : {}) })
  }

  #item(event: JsonObject, item: JsonObject, out: ChatEvent[]): void {
    const key = `${labelOf(event.output_index)}:call`
    this.#seen.add(event.output_index)
    if (item.type === 'function_call' || item.type === 'custom_tool_call') {
      this.#calls = true
      const id = textOf(item.call_id) ?? textOf(item.id) ?? ''
      const custom = item.type === 'custom_tool_call'
      const part = this.#parts.open(key, 'toolCall', 0, out, {
        id,
        name: textOf(item.name) ?? '',
        ...(custom ? { custom } : {}),
      })
      this.#send(part, textOf(custom ? item.input : item.arguments) ?? '', out)
    } else if (item.type !== 'message' && item.type !== 'reasoning') {
      out.push({ type: 'lost', path: `output[${labelOf(event.output_index)}]`, what: `\`${labelOf(item.type)}\`` })
    }
  }

  #itemDone(event: JsonObject, item: JsonObject, out: ChatEvent[]): void {
    const prefix = `${labelOf(event.output_index)}:`
    findUnread(item, REPLY.output as Member, `output[${labelOf(event.output_index)}]`, path =>
      out.push({ type: 'lost', path }),
    )
    this.#whole(event, item, out)
    const call = this.#parts.get(`${prefix}call`)
    if (call !== undefined) {
      const whole = textOf(item.type === 'custom_tool_call' ? item.input : item.arguments) ?? ''
      this.#send(call, whole.slice(this.#sent.get(call) ?? 0), out)
    }
    if (item.type === 'reasoning') this.#reasoning(event, item, out)
    this.#parts.closeAll(out, prefix)
  }

  /** Some servers send an item only as a whole at its end. */
  #whole(event: JsonObject, item: JsonObject, out: ChatEvent[]): void {
    if (this.#seen.has(event.output_index)) return
    if (item.type !== 'message') this.#item(event, item, out)
    if (item.type === 'reasoning') this.#text(event, 'reasoning', readReasoningItem(item, '').text, out)
    for (const [i, value] of listOf(item.type === 'message' ? item.content : []).entries()) {
      const { type, text, refusal } = objectOf(value)
      const kind = type === 'refusal' ? 'refusal' : 'text'
      this.#text({ ...event, content_index: i }, kind, textOf(kind === 'text' ? text : refusal) ?? '', out)
    }
  }

  #reasoning(event: JsonObject, item: JsonObject, out: ChatEvent[]): void {
    const encrypted = textOf(item.encrypted_content)
    if (!encrypted) return
    const key = `${labelOf(event.output_index)}:reasoning`
    const part = this.#parts.get(key)
    if (part !== undefined) out.push({ type: 'signature', part, signature: encrypted })
    else out.push({ type: 'delta', part: this.#parts.open(key, 'redacted', 0, out), text: encrypted })
  }

  #arguments(event: JsonObject, text: string, out: ChatEvent[]): void {
    const part = this.#parts.get(`${labelOf(event.output_index)}:call`)
    if (part !== undefined) this.#send(part, text, out)
  }

  #key(event: JsonObject, kind: string): string {
    // The summaries of an item form one text here.
    return kind === 'reasoning'
      ? `${labelOf(event.output_index)}:reasoning`
      : `${labelOf(event.output_index)}:${kind}:${event.content_index}`
  }

  #text(event: JsonObject, kind: 'text' | 'refusal' | 'reasoning', text: string, out: ChatEvent[]): void {
    if (text === '') return
    this.#seen.add(event.output_index)
    if (kind === 'refusal') this.#refused = true
    const key = this.#key(event, kind)
    this.#send(this.#parts.get(key) ?? this.#parts.open(key, kind, 0, out), text, out)
    const { logprobs } = readLogprobs({ content: event.logprobs })
    if (logprobs) out.push({ type: 'logprobs', choice: 0, value: logprobs })
  }

  /** Some servers send a text only as a whole at its end. */
  #rest(event: JsonObject, kind: 'text' | 'refusal' | 'reasoning', text: string, out: ChatEvent[]): void {
    const part = this.#parts.get(this.#key(event, kind))
    if (part === undefined) this.#text(event, kind, text, out)
    else if (kind !== 'reasoning') this.#send(part, text.slice(this.#sent.get(part) ?? 0), out)
    if (kind !== 'reasoning') this.#parts.close(this.#key(event, kind), out)
  }

  #send(part: number, text: string, out: ChatEvent[]): void {
    if (text === '') return
    this.#sent.set(part, (this.#sent.get(part) ?? 0) + text.length)
    out.push({ type: 'delta', part, text })
  }

  #finish(response: JsonObject, out: ChatEvent[]): void {
    this.#over = true
    this.#parts.closeAll(out)
    const usage = readUsage(response.usage)
    if (usage) out.push({ type: 'usage', usage })
    const reason = stopOf(response, { calls: this.#calls, refused: this.#refused })
    out.push({ type: 'stop', choice: 0, reason }, { type: 'end' })
  }

  #fail(response: JsonObject, out: ChatEvent[]): void {
    this.#over = true
    out.push({ type: 'error', error: errorOf(undefined, decodeError(response)) })
  }
}

interface Item {
  readonly kind: OpenEvent['kind']
  readonly index: number
  readonly id: string
  readonly open: OpenEvent
  /** The pieces of the whole text that the end repeats. */
  readonly pieces: string[]
  signature?: string
  /** Of the part's tokens. */
  readonly logprobs: TokenLogprob[]
}

export class ResponsesWriter implements EventWriter {
  readonly #facts: ReplyFacts
  readonly #items = new Map<number, Item>()
  readonly #output: JsonObject[] = []
  #about: { id: string; model: string; created: number }
  #sequence = 0
  #started = false
  #stop: StopReason = 'other'
  #usage: ChatUsage | undefined

  constructor(facts: ReplyFacts) {
    this.#facts = facts
    this.#about = facts
  }

  write(event: ChatEvent): string {
    switch (event.type) {
      case 'start':
        this.#about = {
          id: this.#facts.id,
          model: event.model ?? this.#facts.model,
          created: event.created ?? this.#facts.created,
        }
        return this.#start()
      case 'open':
        return event.choice === 0 ? this.#start() + this.#open(event) : ''
      case 'delta':
        return this.#delta(event.part, event.text)
      case 'signature': {
        const item = this.#items.get(event.part)
        if (item?.kind === 'reasoning') item.signature = event.signature
        return ''
      }
      case 'logprobs':
        if (event.choice === 0)
          for (const { kind, logprobs } of this.#items.values())
            if (kind === 'text') logprobs.push(...event.value.content)
        return ''
      case 'close':
        return this.#close(event.part)
      case 'stop':
        if (event.choice === 0) this.#stop = event.reason
        return ''
      case 'usage':
        this.#usage = event.usage
        return ''
      case 'error':
        return this.#start() + this.#fail(encodeError(event.error).error as JsonObject)
      case 'end':
        return this.#start() + this.#end()
      default:
        return ''
    }
  }

  #event(type: string, rest: JsonObject): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence++, ...rest })}\n\n`
  }

  #start(): string {
    if (this.#started) return ''
    this.#started = true
    const response = begun(this.#about)
    return this.#event('response.created', { response }) + this.#event('response.in_progress', { response })
  }

  #open(open: OpenEvent): string {
    const { kind } = open
    const index = this.#output.length
    const prefix = kind === 'toolCall' ? 'fc' : kind === 'reasoning' || kind === 'redacted' ? 'rs' : 'msg'
    const id = `${prefix}_${this.#about.id}_${index}`
    const item: Item = { kind, index, id, open, pieces: [], logprobs: [] }
    this.#items.set(open.part, item)
    const begin = itemOf(item, 'in_progress', '')
    this.#output.push(begin)
    const added = this.#event('response.output_item.added', { output_index: index, item: begin })
    if (kind === 'text' || kind === 'refusal') {
      return added + this.#event('response.content_part.added', { ...this.#at(item), part: contentPart(kind, '') })
    }
    if (kind !== 'reasoning') return added
    const part = { type: 'summary_text', text: '' }
    return added + this.#event('response.reasoning_summary_part.added', { ...this.#at(item), part })
  }

  #at({ kind, id, index }: Item): JsonObject {
    if (kind === 'toolCall') return { item_id: id, output_index: index }
    const inner = kind === 'reasoning' ? 'summary_index' : 'content_index'
    return { item_id: id, output_index: index, [inner]: 0 }
  }

  #delta(part: number, text: string): string {
    const item = this.#items.get(part)
    if (!item || text === '') return ''
    item.pieces.push(text)
    const name = deltaName(item)
    if (name === undefined) return ''
    const logprobs = item.kind === 'text' ? { logprobs: [] } : {}
    return this.#event(`${name}.delta`, { ...this.#at(item), delta: text, ...logprobs })
  }

  #close(part: number): string {
    const item = this.#items.get(part)
    if (!item) return ''
    this.#items.delete(part)
    const text = item.pieces.join('') || (item.kind === 'toolCall' && !item.open.custom ? '{}' : '')
    let out = ''
    if (item.kind === 'toolCall' && item.pieces.length === 0 && text !== '') {
      out += this.#event('response.function_call_arguments.delta', { ...this.#at(item), delta: text })
    }
    const name = deltaName(item)
    if (name !== undefined) out += this.#event(`${name}.done`, { ...this.#at(item), ...wholeText(item, text) })
    if (item.kind === 'text' || item.kind === 'refusal') {
      out += this.#event('response.content_part.done', {
        ...this.#at(item),
        part: contentPart(item.kind, text, { content: item.logprobs }),
      })
    } else if (item.kind === 'reasoning') {
      const summary = { type: 'summary_text', text }
      out += this.#event('response.reasoning_summary_part.done', { ...this.#at(item), part: summary })
    }
    const done = itemOf(item, 'completed', text)
    this.#output[item.index] = done
    this.#facts.keep?.(done)
    return out + this.#event('response.output_item.done', { output_index: item.index, item: done })
  }

  #end(): string {
    let out = ''
    for (const part of [...this.#items.keys()]) out += this.#close(part)
    const response = finished(this.#about, this.#stop, this.#output, this.#usage)
    return out + this.#event(`response.${labelOf(response.status)}`, { response })
  }

  #fail({ code, message }: JsonObject): string {
    const error = { code: code ?? 'server_error', message }
    return this.#event('response.failed', { response: { ...begun(this.#about), status: 'failed', error } })
  }
}

function deltaName({ kind, open }: Item): string | undefined {
  if (kind === 'text') return 'response.output_text'
  if (kind === 'refusal') return 'response.refusal'
  if (kind === 'reasoning') return 'response.reasoning_summary_text'
  if (kind === 'redacted') return undefined
  return open.custom ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
}

function wholeText({ kind, open, logprobs }: Item, text: string): JsonObject {
  if (kind === 'refusal') return { refusal: text }
  if (kind === 'text') return { text, logprobs }
  if (kind !== 'toolCall') return { text }
  return open.custom ? { input: text } : { arguments: text }
}

function itemOf({ kind, id, open, signature, logprobs }: Item, status: string, text: string): JsonObject {
  if (kind === 'text' || kind === 'refusal') {
    return messageItem(id, status, status === 'completed' ? [contentPart(kind, text, { content: logprobs })] : [])
  }
  if (kind === 'reasoning') return reasoningItem(id, text, signature)
  if (kind === 'redacted') return reasoningItem(id, '', text || undefined)
  const { id: call_id = '', name = '', custom } = open
  if (custom) return { id, type: 'custom_tool_call', status, call_id, name, input: text }
  return { id, type: 'function_call', status, call_id, name, arguments: text }
}

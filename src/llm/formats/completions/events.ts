import type { ChatEvent, OpenEvent } from '../../chat/chat.ts'
import type { EventReader, EventWriter, RawEvent, ReplyFacts } from '../../chat/codec.ts'
import { errorOf } from '../../chat/errors.ts'
import { isObject, isVoid, type JsonObject, listOf, numberOf, objectOf, textOf } from '../../chat/json.ts'
import { findUnread } from '../../chat/members.ts'
import { cutStream, OpenParts, parseEvent } from '../../chat/open-parts.ts'
import { decodeError, openAiErrors } from './errors.ts'
import { googleSignature, REPLY } from './members.ts'
import {
  endedOf,
  finishReasonOf,
  readLogprobs,
  readPieces,
  readUsage,
  stopReasonOf,
  writeLogprobs,
  writeUsage,
} from './reply.ts'

export class CompletionsReader implements EventReader {
  readonly #parts = new OpenParts()
  /** Calls whose name has not arrived; their arguments are held. */
  readonly #unnamed = new Map<string, { id: string; text: string }>()
  readonly #refused = new Set<number>()
  #started = false
  #stopped = false
  #over = false

  read({ data }: RawEvent): readonly ChatEvent[] {
    if (this.#over) return []
    if (data === '[DONE]') return this.end()
    const chunk = parseEvent(data)
    if (!isObject(chunk)) return []
    const out: ChatEvent[] = []
    if (chunk.error !== undefined && chunk.error !== null) {
      this.#over = true
      return [{ type: 'error', error: errorOf(undefined, decodeError(chunk)) }]
    }
    findUnread(chunk, REPLY, '', path => out.push({ type: 'lost', path }))
    if (!this.#started) this.#start(chunk, out)
    for (const [i, choice] of listOf(chunk.choices).entries()) this.#choice(objectOf(choice), i, out)
    const usage = readUsage(chunk.usage)
    if (usage) out.push({ type: 'usage', usage })
    return out
  }

  end(): readonly ChatEvent[] {
    if (this.#over) return []
    this.#over = true
    if (!this.#stopped) return [cutStream()]
    const out: ChatEvent[] = []
    this.#parts.closeAll(out)
    out.push({ type: 'end' })
    return out
  }

  #start(chunk: JsonObject, out: ChatEvent[]): void {
    this.#started = true
    const id = textOf(chunk.id)
    const model = textOf(chunk.model)
    const created = numberOf(chunk.created)
    out.push({ type: 'start', ...(id ? { id } : {}), ...(model ? { model } : {}), ...(created ? { created } : {}) })
  }

  #choice(choice: JsonObject, position: number, out: ChatEvent[]): void {
    const index = numberOf(choice.index) ?? position
    const delta = objectOf(choice.delta)
    this.#reasoning(delta, index, out)
    const refusal = textOf(delta.refusal)
    if (refusal) {
      this.#refused.add(index)
      this.#text(`${index}:refusal`, 'refusal', refusal, index, out)
    }
    const { text, thoughts, others } = readPieces(delta.content)
    if (thoughts) this.#text(`${index}:reasoning`, 'reasoning', thoughts, index, out)
    if (text) {
      this.#parts.close(`${index}:reasoning`, out)
      this.#text(`${index}:text`, 'text', text, index, out)
    }
    for (const [i, call] of listOf(delta.tool_calls).entries()) this.#call(objectOf(call), i, index, out)
    const { function_call: only } = delta
    if (isObject(only)) this.#call({ id: only.name, function: only }, 0, index, out)
    for (const name of ['annotations', 'audio']) {
      if (!isVoid(delta[name])) out.push({ type: 'lost', path: `choices[${index}].delta.${name}` })
    }
    for (const type of others) out.push({ type: 'lost', path: `choices[${index}].delta.content`, what: `\`${type}\`` })
    const { logprobs } = readLogprobs(choice.logprobs)
    if (logprobs) out.push({ type: 'logprobs', choice: index, value: logprobs })
    const finish = textOf(choice.finish_reason)
    if (finish !== undefined) this.#finish(finish, index, out)
  }

  #text(key: string, kind: 'text' | 'refusal' | 'reasoning', text: string, choice: number, out: ChatEvent[]): void {
    const part = this.#parts.get(key) ?? this.#parts.open(key, kind, choice, out)
    out.push({ type: 'delta', part, text })
  }

  #reasoning(delta: JsonObject, choice: number, out: ChatEvent[]): void {
    const key = `${choice}:reasoning`
    const text = textOf(delta.reasoning_content) ?? textOf(delta.reasoning)
    if (text) this.#text(key, 'reasoning', text, choice, out)
    const signature = textOf(delta.reasoning_signature)
    if (!signature) return
    const part = this.#parts.get(key) ?? this.#parts.open(key, 'reasoning', choice, out)
    out.push({ type: 'signature', part, signature })
  }

  #call(call: JsonObject, position: number, choice: number, out: ChatEvent[]): void {
    const key = `${choice}:call:${numberOf(call.index) ?? position}`
    const custom = call.type === 'custom' || isObject(call.custom)
    const what = objectOf(custom ? call.custom : call.function)
    const text = textOf(custom ? what.input : what.arguments) ?? ''
    let part = this.#parts.get(key)
    if (part === undefined) {
      const waiting = this.#unnamed.get(key)
      const name = textOf(what.name)
      const sent = textOf(call.id) ?? waiting?.id ?? ''
      if (!name) {
        this.#unnamed.set(key, { id: sent, text: (waiting?.text ?? '') + text })
        return
      }
      this.#unnamed.delete(key)
      this.#parts.close(`${choice}:reasoning`, out)
      this.#parts.close(`${choice}:text`, out)
      part = this.#parts.open(key, 'toolCall', choice, out, {
        id: sent || `call_${position}`,
        name,
        ...(custom ? { custom } : {}),
        ...googleSignature(call),
      })
      if (waiting?.text) out.push({ type: 'delta', part, text: waiting.text })
    }
    if (text !== '') out.push({ type: 'delta', part, text })
  }

  #finish(finish: string, choice: number, out: ChatEvent[]): void {
    const reason = stopReasonOf(finish)
    this.#stopped = true
    this.#parts.closeAll(out, `${choice}:`)
    const refused = reason === 'end' && this.#refused.has(choice)
    out.push({ type: 'stop', choice, reason: refused ? 'refusal' : reason, ...endedOf(reason, finish) })
  }
}

interface OpenCall {
  readonly choice: number
  readonly index: number
  readonly custom: boolean
  empty: boolean
}

export class CompletionsWriter implements EventWriter {
  readonly #facts: ReplyFacts
  readonly #kinds = new Map<number, { choice: number; kind: OpenEvent['kind'] }>()
  readonly #calls = new Map<number, OpenCall>()
  /** Calls so far, by choice. */
  readonly #count = new Map<number, number>()
  readonly #greeted = new Set<number>()
  #prefix: string
  #usage: string | undefined

  constructor(facts: ReplyFacts) {
    this.#facts = facts
    this.#prefix = this.#head(facts.id, facts.model, facts.created)
  }

  write(event: ChatEvent): string {
    switch (event.type) {
      case 'start':
        this.#prefix = this.#head(
          event.id ?? this.#facts.id,
          event.model ?? this.#facts.model,
          event.created ?? this.#facts.created,
        )
        return ''
      case 'open':
        return this.#open(event)
      case 'delta':
        return this.#delta(event.part, event.text)
      case 'signature':
        return this.#signature(event.part, event.signature)
      case 'close':
        return this.#close(event.part)
      case 'logprobs':
        return this.#chunk(event.choice, {}, null, writeLogprobs(event.value))
      case 'stop':
        return this.#chunk(event.choice, {}, finishReasonOf(event.reason))
      case 'usage':
        this.#usage = JSON.stringify(writeUsage(event.usage))
        return ''
      case 'error':
        return openAiErrors.event(event.error)
      case 'end':
        return `${this.#lastUsage()}data: [DONE]\n\n`
      case 'lost':
        return ''
    }
  }

  #head(id: string, model: string, created: number): string {
    const head = JSON.stringify({ id, object: 'chat.completion.chunk', created, model })
    return `data: ${head.slice(0, -1)},"choices":[`
  }

  #chunk(choice: number, delta: JsonObject, finish: string | null = null, logprobs?: unknown): string {
    const first = !this.#greeted.has(choice)
    if (first) this.#greeted.add(choice)
    const body = {
      index: choice,
      delta: first ? { role: 'assistant', ...delta } : delta,
      ...(logprobs === undefined ? {} : { logprobs }),
      finish_reason: finish,
    }
    return `${this.#prefix}${JSON.stringify(body)}]}\n\n`
  }

  #open(event: OpenEvent): string {
    const { part, choice, kind, id = '', name = '', custom = false } = event
    this.#kinds.set(part, { choice, kind })
    if (kind !== 'toolCall') return ''
    const index = this.#count.get(choice) ?? 0
    this.#count.set(choice, index + 1)
    this.#calls.set(part, { choice, index, custom, empty: true })
    const what = custom
      ? { type: 'custom', custom: { name, input: '' } }
      : { type: 'function', function: { name, arguments: '' } }
    return this.#chunk(choice, { tool_calls: [{ index, id, ...what }] })
  }

  #delta(part: number, text: string): string {
    const call = this.#calls.get(part)
    if (call) {
      if (text === '') return ''
      call.empty = false
      const what = call.custom ? { custom: { input: text } } : { function: { arguments: text } }
      return this.#chunk(call.choice, { tool_calls: [{ index: call.index, ...what }] })
    }
    const open = this.#kinds.get(part)
    if (!open || text === '') return ''
    if (open.kind === 'text') return this.#chunk(open.choice, { content: text })
    if (open.kind === 'refusal') return this.#chunk(open.choice, { refusal: text })
    if (open.kind === 'reasoning') return this.#chunk(open.choice, { reasoning_content: text })
    return this.#chunk(open.choice, { thinking_blocks: [{ type: 'redacted_thinking', data: text }] })
  }

  #signature(part: number, signature: string): string {
    const open = this.#kinds.get(part)
    return open?.kind === 'reasoning' ? this.#chunk(open.choice, { reasoning_signature: signature }) : ''
  }

  #close(part: number): string {
    this.#kinds.delete(part)
    const call = this.#calls.get(part)
    if (!call) return ''
    this.#calls.delete(part)
    if (!call.empty || call.custom) return ''
    return this.#chunk(call.choice, { tool_calls: [{ index: call.index, function: { arguments: '{}' } }] })
  }

  #lastUsage(): string {
    if (this.#usage === undefined || !this.#facts.usage) return ''
    return `${this.#prefix}],"usage":${this.#usage}}\n\n`
  }
}

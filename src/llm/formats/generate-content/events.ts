import type { ChatEvent, ChatUsage, OpenEvent, StopReason } from '../../chat/chat.ts'
import type { EventReader, EventWriter, RawEvent, ReplyFacts } from '../../chat/codec.ts'
import { argumentsObject } from '../../chat/content.ts'
import { errorOf } from '../../chat/errors.ts'
import { defined, isObject, type JsonObject, listOf, numberOf, objectOf, textOf } from '../../chat/json.ts'
import { findUnread } from '../../chat/members.ts'
import { cutStream, OpenParts, parseEvent } from '../../chat/open-parts.ts'
import { CallIds } from './decode-request.ts'
import { decodeError, googleErrors } from './errors.ts'
import { readLogprobs, writeLogprobs } from './logprobs.ts'
import { REPLY } from './members.ts'
import { failedCall, finishReasonOf, readUsage, stopOf, writeUsage } from './reply.ts'

/** Each event is a response with the next pieces; calls always arrive whole. */
export class GenerateContentReader implements EventReader {
  readonly #parts = new OpenParts()
  readonly #called = new Set<number>()
  readonly #ids = new Map<number, CallIds>()
  #started = false
  #stopped = false
  #over = false
  #calls = 0
  #id: string | undefined
  /** Signs a thought or text, with no call yet. */
  #signature: string | undefined

  read({ data }: RawEvent): readonly ChatEvent[] {
    if (this.#over) return []
    const event = parseEvent(data)
    if (!isObject(event)) return []
    const out: ChatEvent[] = []
    if (event.error !== undefined) {
      this.#over = true
      return [{ type: 'error', error: errorOf(undefined, decodeError(event)) }]
    }
    findUnread(event, REPLY, '', path => out.push({ type: 'lost', path }))
    if (!this.#started) this.#start(event, out)
    const usage = readUsage(event.usageMetadata)
    if (usage) out.push({ type: 'usage', usage })
    if (objectOf(event.promptFeedback).blockReason !== undefined && listOf(event.candidates).length === 0) {
      this.#stopped = true
      out.push({ type: 'stop', choice: 0, reason: 'filter' })
    }
    for (const [i, candidate] of listOf(event.candidates).entries()) this.#candidate(objectOf(candidate), i, out)
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

  #start(event: JsonObject, out: ChatEvent[]): void {
    this.#started = true
    const id = textOf(event.responseId)
    this.#id = id
    const model = textOf(event.modelVersion)
    out.push({ type: 'start', ...(id ? { id } : {}), ...(model ? { model } : {}) })
  }

  #candidate(candidate: JsonObject, position: number, out: ChatEvent[]): void {
    const choice = numberOf(candidate.index) ?? position
    for (const part of listOf(objectOf(candidate.content).parts)) this.#part(objectOf(part), choice, out)
    const logprobs = readLogprobs(candidate.logprobsResult)
    if (logprobs) out.push({ type: 'logprobs', choice, value: logprobs })
    if (typeof candidate.finishReason !== 'string') return
    this.#stopped = true
    this.#parts.closeAll(out, `${choice}:`)
    const failed = failedCall(candidate)
    if (failed !== undefined) {
      this.#over = true
      out.push({ type: 'error', error: { kind: 'server', message: failed } })
      return
    }
    const { stop: reason, ...rest } = stopOf(candidate.finishReason, this.#called.has(choice))
    out.push({ type: 'stop', choice, reason, ...rest })
  }

  #part(part: JsonObject, choice: number, out: ChatEvent[]): void {
    const signature = textOf(part.thoughtSignature)
    if (isObject(part.functionCall)) {
      this.#parts.closeAll(out, `${choice}:`)
      this.#call(part.functionCall, choice, signature ?? this.#signature, out)
      this.#signature = undefined
      return
    }
    if (signature) this.#signature = signature
    const text = textOf(part.text)
    if (text === undefined) {
      const kind = Object.keys(part)[0] ?? 'part'
      out.push({ type: 'lost', path: `candidates[${choice}].content.parts`, what: `\`${kind}\`` })
      return
    }
    const kind = part.thought === true ? 'reasoning' : 'text'
    const key = `${choice}:${kind}`
    if (kind === 'text') this.#parts.close(`${choice}:reasoning`, out)
    if (text === '' && !signature) return
    if (text === '' && this.#parts.get(key) === undefined) return
    const open = this.#parts.get(key) ?? this.#parts.open(key, kind, choice, out)
    if (text !== '') out.push({ type: 'delta', part: open, text })
    if (signature) out.push({ type: 'signature', part: open, signature })
  }

  #call(call: JsonObject, choice: number, signature: string | undefined, out: ChatEvent[]): void {
    this.#called.add(choice)
    let ids = this.#ids.get(choice)
    if (!ids) {
      ids = new CallIds(`call_${this.#id ?? 'gemini'}${choice === 0 ? '' : `_${choice}`}`)
      this.#ids.set(choice, ids)
    }
    const name = textOf(call.name) ?? ''
    const key = `${choice}:call:${this.#calls++}`
    const part = this.#parts.open(key, 'toolCall', choice, out, {
      id: ids.call(name, textOf(call.id)),
      name,
      ...(signature === undefined ? {} : { signature }),
    })
    out.push({ type: 'delta', part, text: JSON.stringify(call.args ?? {}) })
    this.#parts.close(key, out)
  }
}

interface Waiting {
  readonly open: OpenEvent
  text: string
}

export class GenerateContentWriter implements EventWriter {
  readonly #facts: ReplyFacts
  readonly #kinds = new Map<number, OpenEvent>()
  /** Calls are sent whole. */
  readonly #calls = new Map<number, Waiting>()
  #id: string
  #model: string
  #usage: ChatUsage | undefined
  #stops: { choice: number; reason: StopReason }[] = []

  constructor(facts: ReplyFacts) {
    this.#facts = facts
    this.#id = facts.id
    this.#model = facts.model
  }

  write(event: ChatEvent): string {
    switch (event.type) {
      case 'start':
        this.#id = event.id ?? this.#facts.id
        this.#model = event.model ?? this.#facts.model
        return ''
      case 'open':
        if (event.kind === 'toolCall') this.#calls.set(event.part, { open: event, text: '' })
        else this.#kinds.set(event.part, event)
        return ''
      case 'delta':
        return this.#delta(event.part, event.text)
      case 'signature':
        return this.#signature(event.part, event.signature)
      case 'close':
        return this.#close(event.part)
      case 'stop':
        this.#stops.push({ choice: event.choice, reason: event.reason })
        return ''
      case 'logprobs':
        return this.#chunk([{ index: event.choice, logprobsResult: writeLogprobs(event.value) }])
      case 'usage':
        this.#usage = event.usage
        return ''
      case 'error':
        return googleErrors.event(event.error)
      case 'end':
        return this.#end()
      default:
        return ''
    }
  }

  #chunk(candidates: readonly JsonObject[], usage?: ChatUsage): string {
    const value = defined({
      candidates,
      usageMetadata: usage && writeUsage(usage),
      modelVersion: this.#model,
      responseId: this.#id,
    })
    return `data: ${JSON.stringify(value)}\n\n`
  }

  #parts(choice: number, part: JsonObject): string {
    return this.#chunk([{ content: { role: 'model', parts: [part] }, index: choice }])
  }

  #delta(part: number, text: string): string {
    const call = this.#calls.get(part)
    if (call) {
      call.text += text
      return ''
    }
    const open = this.#kinds.get(part)
    if (!open || text === '' || open.kind === 'redacted') return ''
    return this.#parts(open.choice, open.kind === 'reasoning' ? { text, thought: true } : { text })
  }

  #signature(part: number, signature: string): string {
    const open = this.#kinds.get(part)
    if (!open) return ''
    const thought = open.kind === 'reasoning' ? { thought: true } : {}
    return this.#parts(open.choice, { text: '', ...thought, thoughtSignature: signature })
  }

  #close(part: number): string {
    this.#kinds.delete(part)
    const call = this.#calls.get(part)
    if (!call) return ''
    this.#calls.delete(part)
    const { id, name, custom, choice, signature } = call.open
    const args = custom ? { input: call.text } : (argumentsObject(call.text) ?? {})
    const signed = signature === undefined ? {} : { thoughtSignature: signature }
    return this.#parts(choice, { functionCall: defined({ id, name, args }), ...signed })
  }

  #end(): string {
    let out = ''
    for (const part of [...this.#calls.keys()]) out += this.#close(part)
    const stops = this.#stops.map(({ choice, reason }) => ({
      content: { role: 'model', parts: [{ text: '' }] },
      finishReason: finishReasonOf(reason),
      index: choice,
    }))
    return out + this.#chunk(stops, this.#usage ?? {})
  }
}

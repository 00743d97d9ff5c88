import type { ChatEvent, ChatUsage, OpenEvent, StopReason } from '../../chat/chat.ts'
import type { ErrorCodec, EventReader, EventWriter, RawEvent } from '../../chat/codec.ts'
import { errorOf } from '../../chat/errors.ts'
import { isObject, isVoid, type JsonObject, labelOf, objectOf, textOf } from '../../chat/json.ts'
import { cutStream, OpenParts, parseEvent } from '../../chat/open-parts.ts'
import { decodeError, encodeError } from './errors.ts'
import { failedCall, readUsage, stopNameOf, stopOf, writeUsage } from './reply.ts'

const DELTAS = new Set(['text', 'toolUse', 'reasoningContent', 'citation'])

/** Decodes `ConverseStream` frames: the event type is the name, the payload the data. */
export class ConverseReader implements EventReader {
  readonly #parts = new OpenParts()
  #stopped = false
  #over = false

  read({ name, data }: RawEvent): readonly ChatEvent[] {
    if (this.#over) return []
    const value = parseEvent(data)
    const event = isObject(value) ? value : {}
    const out: ChatEvent[] = []
    switch (name) {
      case 'messageStart':
        out.push({ type: 'start' })
        break
      case 'contentBlockStart':
        this.#open(labelOf(event.contentBlockIndex), objectOf(event.start), out)
        break
      case 'contentBlockDelta':
        this.#delta(labelOf(event.contentBlockIndex), objectOf(event.delta), out)
        break
      case 'contentBlockStop':
        this.#parts.close(labelOf(event.contentBlockIndex), out)
        break
      case 'messageStop':
        this.#stopped = true
        this.#parts.closeAll(out)
        this.#stop(event, out)
        break
      case 'metadata': {
        const usage = readUsage(event.usage)
        if (usage) out.push({ type: 'usage', usage })
        if (!isVoid(event.trace)) out.push({ type: 'lost', path: 'trace' })
        break
      }
      default:
        if (name?.endsWith('Exception')) {
          this.#over = true
          out.push({ type: 'error', error: errorOf(undefined, decodeError(event, name)) })
        } else if (name) out.push({ type: 'lost', path: name })
    }
    return out
  }

  #stop({ stopReason, additionalModelResponseFields: more }: JsonObject, out: ChatEvent[]): void {
    const failed = failedCall(stopReason)
    if (failed !== undefined) {
      this.#over = true
      out.push({ type: 'error', error: { kind: 'server', message: failed } })
      return
    }
    const { stop: reason, ...rest } = stopOf(stopReason)
    if (!isVoid(more)) out.push({ type: 'lost', path: 'additionalModelResponseFields' })
    out.push({ type: 'stop', choice: 0, reason, ...rest })
  }

  end(): readonly ChatEvent[] {
    if (this.#over) return []
    this.#over = true
    return this.#stopped ? [{ type: 'end' }] : [cutStream()]
  }

  #open(key: string, start: JsonObject, out: ChatEvent[]): void {
    const { toolUse } = start
    if (!isObject(toolUse)) {
      for (const kind in start) out.push({ type: 'lost', path: `content[${key}]`, what: `\`${kind}\`` })
      return
    }
    this.#parts.open(key, 'toolCall', 0, out, {
      id: textOf(toolUse.toolUseId) ?? '',
      name: textOf(toolUse.name) ?? '',
    })
  }

  /** Text and reasoning often begin without a start event. */
  #delta(key: string, delta: JsonObject, out: ChatEvent[]): void {
    const { text, toolUse, reasoningContent, citation } = delta
    if (citation !== undefined) {
      out.push({ type: 'lost', path: `content[${key}].citations`, what: 'citations' })
    }
    for (const kind in delta)
      if (!DELTAS.has(kind)) out.push({ type: 'lost', path: `content[${key}]`, what: `\`${kind}\`` })
    if (typeof text === 'string') this.#push(key, 'text', text, out)
    else if (isObject(toolUse)) this.#push(key, 'toolCall', textOf(toolUse.input) ?? '', out)
    else if (isObject(reasoningContent)) this.#reasoning(key, reasoningContent, out)
  }

  #push(key: string, kind: OpenEvent['kind'], text: string, out: ChatEvent[]): void {
    const known = this.#parts.get(key)
    if (known === undefined && (text === '' || kind === 'toolCall')) return
    const part = known ?? this.#parts.open(key, kind, 0, out)
    if (text !== '') out.push({ type: 'delta', part, text })
  }

  #reasoning(key: string, content: JsonObject, out: ChatEvent[]): void {
    const redacted = textOf(content.redactedContent)
    if (redacted !== undefined) {
      this.#push(key, 'redacted', redacted, out)
      return
    }
    const text = textOf(content.text)
    if (text !== undefined) this.#push(key, 'reasoning', text, out)
    const signature = textOf(content.signature)
    if (!signature) return
    const part = this.#parts.get(key) ?? this.#parts.open(key, 'reasoning', 0, out)
    out.push({ type: 'signature', part, signature })
  }
}

/**
 * Encodes each event as one line of JSON, `{"messageStart":{…}}`, which the framing puts into a frame. Used by stubs of
 * the provider.
 */
export class ConverseWriter implements EventWriter {
  readonly #indexes = new Map<number, { index: number; kind: OpenEvent['kind'] }>()
  #next = 0
  #started = false
  #stop: StopReason = 'other'
  #usage: ChatUsage | undefined

  write(event: ChatEvent): string {
    switch (event.type) {
      case 'start':
        return this.#start()
      case 'open':
        return this.#start() + this.#open(event)
      case 'delta':
        return this.#delta(event.part, event.text)
      case 'signature': {
        const open = this.#indexes.get(event.part)
        if (open?.kind !== 'reasoning') return ''
        return block('contentBlockDelta', open.index, { delta: { reasoningContent: { signature: event.signature } } })
      }
      case 'close': {
        const open = this.#indexes.get(event.part)
        return open ? block('contentBlockStop', open.index, {}) : ''
      }
      case 'stop':
        this.#stop = event.reason
        return ''
      case 'usage':
        this.#usage = event.usage
        return ''
      case 'error':
        return `${JSON.stringify({ [exceptionName(encodeError(event.error))]: { message: event.error.message } })}\n`
      case 'end':
        return this.#start() + this.#end()
      default:
        return ''
    }
  }

  #start(): string {
    if (this.#started) return ''
    this.#started = true
    return `${JSON.stringify({ messageStart: { role: 'assistant' } })}\n`
  }

  #open({ part, kind, id, name }: OpenEvent): string {
    const index = this.#next++
    this.#indexes.set(part, { index, kind })
    return kind === 'toolCall' ? block('contentBlockStart', index, { start: { toolUse: { toolUseId: id, name } } }) : ''
  }

  #delta(part: number, text: string): string {
    const open = this.#indexes.get(part)
    if (!open) return ''
    return block('contentBlockDelta', open.index, { delta: deltaOf(open.kind, text) })
  }

  #end(): string {
    const stop = JSON.stringify({ messageStop: { stopReason: stopNameOf(this.#stop) } })
    const metadata = JSON.stringify({ metadata: { usage: writeUsage(this.#usage ?? {}), metrics: { latencyMs: 0 } } })
    return `${stop}\n${metadata}\n`
  }
}

function deltaOf(kind: OpenEvent['kind'], text: string): JsonObject {
  if (kind === 'toolCall') return { toolUse: { input: text } }
  if (kind === 'reasoning') return { reasoningContent: { text } }
  return kind === 'redacted' ? { reasoningContent: { redactedContent: text } } : { text }
}

function block(name: string, contentBlockIndex: number, rest: JsonObject): string {
  return `${JSON.stringify({ [name]: { contentBlockIndex, ...rest } })}\n`
}

function exceptionName({ __type }: JsonObject): string {
  const name = labelOf(__type)
  return name.charAt(0).toLowerCase() + name.slice(1)
}

export const converseErrors: ErrorCodec = {
  decode: decodeError,
  encode: encodeError,
  event: error => new ConverseWriter().write({ type: 'error', error }),
}

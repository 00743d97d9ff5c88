import { joinSignature, loseSignatures, splitSignatures } from './call-id.ts'
import type { Chat, ChatEvent, ChatReply, LlmError, OpenEvent, Part } from './chat.ts'
import type { ChatCodec, EventWriter, RawEvent, ReplyFacts } from './codec.ts'
import { inputText } from './content.ts'
import { errorOf } from './errors.ts'
import { fitRequest } from './fit-request.ts'
import type { JsonObject } from './json.ts'
import { Losses } from './losses.ts'
import { replyEvents } from './reply-events.ts'

/** Request parameters outside the body, for formats with model and `stream` in the path. */
export interface Asked {
  readonly model: string
  readonly stream: boolean
  readonly takesThoughts?: boolean
}

/**
 * Converts one request from a client's format to a provider's, and the response back. `losses` records what could not
 * be carried over, in either direction.
 */
export class Conversion {
  readonly losses = new Losses()
  readonly #client: ChatCodec
  readonly #provider: ChatCodec
  #renamed: ReadonlyMap<string, string> = new Map()
  /** Custom tools for which the provider writes JSON: their names as sent. */
  readonly #texts = new Set<string>()

  constructor(client: ChatCodec, provider: ChatCodec) {
    this.#client = client
    this.#provider = provider
  }

  /** The provider's request body. Throws `Untranslatable`. */
  request(body: JsonObject, asked: Asked): JsonObject {
    const chat: Chat = this.#client.request.decode(body)
    chat.model = asked.model
    chat.stream = asked.stream
    chat.takesThoughts = asked.takesThoughts === true
    if (!this.#client.signsCalls) splitSignatures(chat)
    if (!this.#provider.signsCalls) loseSignatures(chat, this.losses)
    fitRequest(chat, this.#provider)
    if (!this.#provider.customTools) for (const { custom, name } of chat.tools) if (custom) this.#texts.add(name)
    const encoded = this.#provider.request.encode(chat, this.losses)
    this.#renamed = chat.renamed
    return encoded
  }

  /** The client's response. Throws `Untranslatable` if the provider's response is malformed. */
  reply(value: unknown, facts: ReplyFacts): { readonly body: JsonObject; readonly reply: ChatReply } {
    const read = this.#provider.reply.decode(value)
    for (const path of read.extras ?? []) this.losses.add(path, 'has no counterpart')
    const reply: ChatReply = {
      ...read,
      id: this.#client.ownIds ? facts.id : (read.id ?? facts.id),
      model: read.model ?? facts.model,
      created: read.created ?? facts.created,
      choices: read.choices.map(choice => ({ ...choice, parts: choice.parts.map(part => this.#named(part)) })),
    }
    return { body: this.#client.reply.encode(reply, this.losses), reply }
  }

  /** The same, as the stream that the client requested. */
  replyAsStream(value: unknown, facts: ReplyFacts): { readonly text: string; readonly reply: ChatReply } {
    const reply = this.#provider.reply.decode(value)
    for (const path of reply.extras ?? []) this.losses.add(path, 'has no counterpart')
    const events = replyEvents(reply)
    const stream = new StreamConversion({ read: () => events, end: () => [] }, this.#client.events.writer(facts), {
      losses: this.losses,
      renamed: this.#renamed,
      texts: this.#texts,
      signsCalls: this.#client.signsCalls === true,
      watch: undefined,
    })
    return { text: stream.push({ data: '' }), reply }
  }

  #named(part: Part): Part {
    if (part.kind !== 'toolCall') return part
    const { signsCalls } = this.#client
    const id = signsCalls ? part.id : joinSignature(part.id, part.signature)
    const named = { ...part, id, name: this.#renamed.get(part.name) ?? part.name }
    return this.#texts.has(part.name) ? { ...named, custom: true, arguments: inputText(part.arguments) } : named
  }

  error(status: number, value: unknown): { readonly body: JsonObject; readonly error: LlmError } {
    const error = errorOf(status, this.#provider.errors.decode(value))
    return { body: this.#client.errors.encode(error), error }
  }

  stream(facts: ReplyFacts, watch?: (event: ChatEvent) => void): StreamConversion {
    return new StreamConversion(this.#provider.events.reader(), this.#client.events.writer(facts), {
      losses: this.losses,
      renamed: this.#renamed,
      texts: this.#texts,
      signsCalls: this.#client.signsCalls === true,
      watch,
    })
  }
}

interface Around {
  readonly losses: Losses
  readonly renamed: ReadonlyMap<string, string>
  readonly texts: ReadonlySet<string>
  readonly signsCalls: boolean
  readonly watch: ((event: ChatEvent) => void) | undefined
}

/** Converts a stream to another format. It ends with the client format's final event or an error. */
export class StreamConversion {
  readonly #reader: ReturnType<ChatCodec['events']['reader']>
  readonly #writer: EventWriter
  readonly #around: Around
  /** Calls of custom tools, with their JSON so far. */
  readonly #texts = new Map<number, string>()
  /** Set after the end or an error: nothing may follow. */
  over = false

  constructor(reader: ReturnType<ChatCodec['events']['reader']>, writer: EventWriter, around: Around) {
    this.#reader = reader
    this.#writer = writer
    this.#around = around
  }

  push(event: RawEvent): string {
    return this.over ? '' : this.#write(this.#reader.read(event))
  }

  /** Called after the provider's last byte. */
  end(): string {
    return this.over ? '' : this.#write(this.#reader.end())
  }

  /** Ends the stream because the call failed or must be cut off. */
  fail(error: LlmError): string {
    return this.over ? '' : this.#write([{ type: 'error', error }])
  }

  #write(events: readonly ChatEvent[]): string {
    let out = ''
    for (const event of events) {
      this.#around.watch?.(event)
      if (event.type === 'lost') this.#around.losses.add(event.path, event.reason)
      for (const each of this.#forClient(event)) out += this.#writer.write(each)
      if (event.type === 'end' || event.type === 'error') {
        this.over = true
        break
      }
    }
    return out
  }

  #forClient(event: ChatEvent): readonly ChatEvent[] {
    if (event.type === 'open' && event.name !== undefined) return [this.#named(event, event.name)]
    if (event.type !== 'delta' && event.type !== 'close') return [event]
    const { part } = event
    const json = this.#texts.get(part)
    if (json === undefined) return [event]
    if (event.type === 'delta') this.#texts.set(part, json + event.text)
    else this.#texts.delete(part)
    return event.type === 'delta' ? [] : [{ type: 'delta', part, text: inputText(json) }, event]
  }

  #named(event: OpenEvent, name: string): ChatEvent {
    const { renamed, signsCalls, texts } = this.#around
    const { id = '', signature } = event
    const named = { ...event, id: signsCalls ? id : joinSignature(id, signature), name: renamed.get(name) ?? name }
    if (!texts.has(name)) return named
    this.#texts.set(event.part, '')
    return { ...named, custom: true }
  }
}

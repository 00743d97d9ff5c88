import { joinSignature, loseSignatures, splitSignatures } from './call-id.ts'
import type { Chat, ChatEvent, ChatReply, Choice, LlmError, OpenEvent, Part, StopReason } from './chat.ts'
import type { ChatCodec, EventReader, EventWriter, RawEvent, ReplyFacts } from './codec.ts'
import { inputText } from './content.ts'
import { errorOf } from './errors.ts'
import { fitRequest } from './fit-request.ts'
import { isObject, type JsonObject } from './json.ts'
import { Losses, Untranslatable } from './losses.ts'
import { findUnread, type Member } from './members.ts'
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
    this.losses.into = this.#provider.title
    const { members, normal, decode } = this.#client.request
    const given = normal?.(body) ?? body
    const chat: Chat = decode(given)
    for (const name in members) findUnread(given[name], members[name] as Member, name, path => this.losses.drop(path))
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
    const read = this.#readReply(value)
    const { choices } = read
    const reply: ChatReply = {
      ...read,
      id: this.#client.ownIds ? facts.id : (read.id ?? facts.id),
      model: read.model ?? facts.model,
      created: read.created ?? facts.created,
      choices: choices.map(choice => ({ ...choice, parts: choice.parts.map(part => this.#named(part)) })),
    }
    return { body: this.#client.reply.encode(reply, this.losses), reply }
  }

  /** The same, as the stream that the client requested. */
  replyAsStream(value: unknown, facts: ReplyFacts): { readonly text: string; readonly reply: ChatReply } {
    const reply = this.#readReply(value)
    const events = replyEvents(reply)
    const stream = this.#stream({ read: () => events, end: () => [] }, facts)
    return { text: stream.push({ data: '' }), reply }
  }

  /** What the client's format cannot hold is left out. */
  #readReply(value: unknown): ChatReply {
    const { reply: format, errors } = this.#provider
    // Some servers answer an error with status 200.
    const error = isObject(value) && isObject(value.error) ? errors.decode(value) : undefined
    if (error?.message !== undefined) throw new Untranslatable('', error.message)
    const read = format.decode(value)
    this.losses.into = this.#client.title
    findUnread(value, format.members, '', path => this.losses.drop(path))
    const { holds } = this.#client
    const choices = holds.choices ? read.choices : read.choices.slice(0, 1)
    if (choices.length < read.choices.length) this.losses.drop('choices', 'more than one')
    return { ...read, choices: choices.map(choice => this.#held(choice)) }
  }

  #held({ logprobs, ...choice }: Choice): Choice {
    const { holds } = this.#client
    loseStop(choice.stop, choice.ended, this.#client, this.losses)
    if (logprobs !== undefined && !holds.logprobs) this.losses.drop('logprobs', 'log probabilities')
    const parts = choice.parts.filter(part => {
      const fits = part.kind !== 'reasoning' || part.redacted === undefined || holds.redacted
      if (!fits) this.losses.drop(part.at, 'encrypted reasoning')
      if (part.kind === 'text' && part.signature !== undefined && !this.#client.signsCalls)
        this.losses.drop(part.at, 'signatures of texts')
      return fits
    })
    return { ...choice, parts, ...(logprobs !== undefined && holds.logprobs ? { logprobs } : {}) }
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
    return this.#stream(this.#provider.events.reader(), facts, watch)
  }

  #stream(reader: EventReader, facts: ReplyFacts, watch?: (event: ChatEvent) => void): StreamConversion {
    this.losses.into = this.#client.title
    return new StreamConversion(reader, this.#client.events.writer(facts), {
      losses: this.losses,
      renamed: this.#renamed,
      texts: this.#texts,
      client: this.#client,
      watch,
    })
  }
}

/** A model that pauses, or ends for a reason that only its provider knows, has not just finished. */
function loseStop(stop: StopReason, ended: string | undefined, { holds }: ChatCodec, losses: Losses): void {
  if (stop === 'pause' && !holds.pause) losses.drop('stop reason', 'that the model pauses')
  if (stop === 'other' && ended !== undefined) losses.drop('stop reason', `\`${ended}\``)
}

interface Around {
  readonly losses: Losses
  readonly renamed: ReadonlyMap<string, string>
  readonly texts: ReadonlySet<string>
  readonly client: ChatCodec
  readonly watch: ((event: ChatEvent) => void) | undefined
}

/** Converts a stream to another format. It ends with the client format's final event or an error. */
export class StreamConversion {
  readonly #reader: EventReader
  readonly #writer: EventWriter
  readonly #around: Around
  /** Calls of custom tools, with their JSON so far. */
  readonly #texts = new Map<number, string>()
  /** Parts that the client's format cannot hold, and those whose signature it cannot. */
  readonly #left = new Set<number>()
  readonly #unsigned = new Set<number>()
  /** Set after the end or an error: nothing may follow. */
  over = false

  constructor(reader: EventReader, writer: EventWriter, around: Around) {
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
      if (!this.#fits(event)) continue
      for (const each of this.#forClient(event)) out += this.#writer.write(each)
      if (event.type === 'end' || event.type === 'error') {
        this.over = true
        break
      }
    }
    return out
  }

  /** False for what the client's format cannot hold; it is named. */
  #fits(event: ChatEvent): boolean {
    const { losses, client } = this.#around
    const { holds, signsCalls } = client
    switch (event.type) {
      case 'open':
        if (event.choice > 0 && !holds.choices) losses.drop('choices', 'more than one')
        else if (event.kind === 'redacted' && !holds.redacted) losses.drop('content', 'encrypted reasoning')
        else {
          if (event.kind === 'text' && !signsCalls) this.#unsigned.add(event.part)
          return true
        }
        this.#left.add(event.part)
        return false
      case 'signature':
        if (!this.#unsigned.has(event.part)) return !this.#left.has(event.part)
        losses.drop('content', 'signatures of texts')
        return false
      case 'delta':
        return !this.#left.has(event.part)
      case 'close':
        this.#unsigned.delete(event.part)
        return !this.#left.delete(event.part)
      case 'stop':
        loseStop(event.reason, event.ended, client, losses)
        return event.choice === 0 || holds.choices === true
      case 'logprobs':
        if (!holds.logprobs) losses.drop('logprobs', 'log probabilities')
        return holds.logprobs === true && (event.choice === 0 || holds.choices === true)
      case 'lost':
        losses.drop(event.path, event.what)
        return false
      default:
        return true
    }
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
    const { renamed, client, texts } = this.#around
    const { id = '', signature } = event
    const named = {
      ...event,
      id: client.signsCalls ? id : joinSignature(id, signature),
      name: renamed.get(name) ?? name,
    }
    if (!texts.has(name)) return named
    this.#texts.set(event.part, '')
    return { ...named, custom: true }
  }
}

import type { Chat, ChatEvent, ChatReply, LlmError } from './chat.ts'
import type { IdentifierRule } from './identifiers.ts'
import type { JsonObject } from './json.ts'
import type { Losses } from './losses.ts'

/** One event of a stream as it came: its name, where the framing has names, and its data. */
export interface RawEvent {
  readonly name?: string | undefined
  readonly data: string
}

/** Turns the events of one stream into neutral ones. */
export interface EventReader {
  /** Never throws: what cannot be read is an `error` event, or nothing. */
  read(event: RawEvent): readonly ChatEvent[]
  /** The stream's last byte came; a reply that is not complete by then ends with an `error` event. */
  end(): readonly ChatEvent[]
}

/** What a stream says of itself where the provider says nothing. */
export interface ReplyFacts {
  readonly id: string
  readonly model: string
  /** Seconds since 1970. */
  readonly created: number
  /** Whether the client asked to see usage, where its format lets it choose. */
  readonly usage: boolean
  /** Takes each finished item of a format whose clients may refer to it later. */
  keep?(item: JsonObject): void
}

/** Writes neutral events as the bytes of one stream. */
export interface EventWriter {
  /** Text to send, in the format's own framing; empty: nothing yet. */
  write(event: ChatEvent): string
}

export interface ErrorCodec {
  /** Undefined: the value is not an error of this format. */
  decode(value: unknown): Partial<LlmError> | undefined
  encode(error: LlmError): JsonObject
  /** The event that ends a stream of the format which was under way. */
  event(error: LlmError): string
}

/**
 * Reads and writes one chat format. Decoders throw `Untranslatable` for bodies that are not of the format; encoders
 * throw it for what must not be lost, and list the rest in `losses`.
 */
export interface ChatCodec {
  /** Replies have the gateway's ids, not the provider's: clients refer to them. */
  readonly ownIds?: true
  /** Tool calls have a field for signatures; elsewhere their ids carry them. */
  readonly signsCalls?: true
  /** Tools may take text instead of JSON. */
  readonly customTools?: true
  /** What the providers of the format take as names of tools and as ids of calls. */
  readonly identifiers: { readonly tools: IdentifierRule; readonly calls: IdentifierRule }
  readonly request: { decode(body: JsonObject): Chat; encode(chat: Chat, losses: Losses): JsonObject }
  readonly reply: { decode(value: unknown): ChatReply; encode(reply: ChatReply, losses: Losses): JsonObject }
  readonly events: { reader(): EventReader; writer(facts: ReplyFacts): EventWriter }
  readonly errors: ErrorCodec
}

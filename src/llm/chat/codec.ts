import type { Chat, ChatEvent, ChatReply, LlmError } from './chat.ts'
import type { IdentifierRule } from './identifiers.ts'
import type { JsonObject } from './json.ts'
import type { Losses } from './losses.ts'
import type { Members } from './members.ts'

/** A raw stream event: its name, if the framing has names, and its data. */
export interface RawEvent {
  readonly name?: string | undefined
  readonly data: string
}

/** Decodes the events of one stream. */
export interface EventReader {
  /** Never throws: malformed events become an `error` event or nothing. */
  read(event: RawEvent): readonly ChatEvent[]
  /** Called after the last byte; if the response is incomplete, it ends with an `error` event. */
  end(): readonly ChatEvent[]
}

/** Fallbacks for what the provider's stream leaves out. */
export interface ReplyFacts {
  readonly id: string
  readonly model: string
  /** Seconds since 1970. */
  readonly created: number
  /** Whether the client asked for usage, in formats where that is optional. */
  readonly usage: boolean
  /** Receives each finished item, for formats whose clients may refer to it later. */
  keep?(item: JsonObject): void
}

/** Encodes neutral events as one stream. */
export interface EventWriter {
  /** Text to send, in the format's framing; may be empty. */
  write(event: ChatEvent): string
}

export interface ErrorCodec {
  /** Undefined if the value is not an error of this format. */
  decode(value: unknown): Partial<LlmError> | undefined
  encode(error: LlmError): JsonObject
  /** The event that ends a started stream with an error. */
  event(error: LlmError): string
}

/**
 * Decodes and encodes one chat format. Decoders throw `Untranslatable` for malformed bodies; encoders throw it for what
 * must not be lost, and record other losses in `losses`.
 */
export interface ChatCodec {
  /** As losses call it. */
  readonly title: string
  /** Responses get the gateway's ids, not the provider's, since clients refer to them. */
  readonly ownIds?: true
  /** Tool calls have a signature field; in other formats their ids carry the signature. */
  readonly signsCalls?: true
  /** Tools may take text instead of JSON. */
  readonly customTools?: true
  /** What its responses can hold beyond one choice of text, reasoning and calls. */
  readonly holds: { readonly choices?: true; readonly logprobs?: true; readonly redacted?: true; readonly pause?: true }
  /** Restrictions of the format's providers on tool names and call ids. */
  readonly identifiers: { readonly tools: IdentifierRule; readonly calls: IdentifierRule }
  readonly request: {
    /** The body with every member under the name that the others read. */
    normal?(body: JsonObject): JsonObject
    /** Below the top level, whose other members are `extras`. */
    readonly members: Members
    decode(body: JsonObject): Chat
    encode(chat: Chat, losses: Losses): JsonObject
  }
  readonly reply: {
    readonly members: Members
    decode(value: unknown): ChatReply
    encode(reply: ChatReply, losses: Losses): JsonObject
  }
  readonly events: { reader(): EventReader; writer(facts: ReplyFacts): EventWriter }
  readonly errors: ErrorCodec
}

import type { HeaderList } from '../../http/headers.ts'
import type { Usage } from '../usage.ts'
import type { LlmError } from './chat.ts'
import type { ErrorCodec } from './codec.ts'
import type { Asked } from './conversion.ts'
import { errorOf } from './errors.ts'
import type { JsonObject } from './json.ts'
import { Losses } from './losses.ts'

/** Input for decoding a provider's plain response. */
export interface PlainAsked {
  /** The client's body. */
  readonly body: JsonObject
  readonly model: string
  /** Of the response. */
  readonly headers: HeaderList
}

export interface PlainReply {
  readonly body: JsonObject
  readonly usage?: Usage
}

/** A provider's own form of a call without streaming: embeddings, token counts. Both throw `Untranslatable`. */
export interface PlainCodec {
  readonly errors: Pick<ErrorCodec, 'decode'>
  request(body: JsonObject, asked: Asked, losses: Losses): JsonObject
  reply(value: unknown, asked: PlainAsked): PlainReply
}

/** Converts one such call: the client's request, and the provider's response. */
export class PlainConversion {
  readonly losses = new Losses()
  readonly #codec: PlainCodec
  readonly #client: ErrorCodec
  #body: JsonObject = {}
  #model = ''

  constructor(codec: PlainCodec, client: ErrorCodec) {
    this.#codec = codec
    this.#client = client
  }

  request(body: JsonObject, asked: Asked): JsonObject {
    this.#body = body
    this.#model = asked.model
    return this.#codec.request(body, asked, this.losses)
  }

  reply(value: unknown, { headers }: { readonly headers: HeaderList }) {
    const { body, usage } = this.#codec.reply(value, { body: this.#body, model: this.#model, headers })
    return { body, reply: { model: this.#model, usage } }
  }

  error(status: number, value: unknown): { readonly body: JsonObject; readonly error: LlmError } {
    const error = errorOf(status, this.#codec.errors.decode(value))
    return { body: this.#client.encode(error), error }
  }
}

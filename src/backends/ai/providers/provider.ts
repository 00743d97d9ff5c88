import type { FormatName } from '../../../llm/formats/format.ts'
import type { Schema } from '../../../schema/builder.ts'

/** Where a provider reads its key. */
export type Credential = 'bearer' | 'x-api-key'

/** How one provider is called, with its settings worked in. */
export interface Wire {
  /** Undefined: the file must say where the provider is. */
  readonly host: string | undefined
  /** Joined with a format's path, unless the format has its own. */
  readonly basePath: string
  /** `pathPrefix` stands in the place of `basePath` also where the client's path is kept. */
  readonly prefixReplacesBase: boolean
  /** Formats that the provider speaks, with their own whole path where it is not base and format path. */
  readonly formats: Readonly<Partial<Record<FormatName, string | undefined>>>
  /** Fixed model, whatever the client asks for. */
  readonly model?: string | undefined
  readonly credential: Credential
  /** Models whose `max_tokens` is called `max_completion_tokens`. */
  readonly maxCompletionTokens?: RegExp
  /** Set unless the client has sent them. */
  readonly headers?: Readonly<Record<string, string>>
  /** Never forwarded; a name that ends with `*` is a prefix. */
  readonly dropHeaders?: readonly string[]
}

/** One LLM provider: what the file says about it and how it is called. One file each. */
export interface Provider<K extends string, S> {
  readonly key: K
  /** `gen_ai.provider.name`, and the provider's key in a cost catalog. */
  readonly telemetryName: string
  readonly doc: string
  readonly settings: Schema<S>
  readonly unserved?: string
  wire(settings: S): Wire
}

export function defineProvider<const K extends string, S>(provider: Provider<K, S>): Provider<K, S> {
  return provider
}

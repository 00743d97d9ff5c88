import type { SignerContext } from '../../../auth/cloud/aws-signer.ts'
import type { HeaderList } from '../../../http/headers.ts'
import type { Target } from '../../../http/transport.ts'
import type { PlainCodec } from '../../../llm/chat/plain-conversion.ts'
import type { FormatName } from '../../../llm/formats/format.ts'
import type { WireFormat } from '../../../llm/formats/target-format.ts'
import { type ClusterContext, defined, type Policies } from '../../../policies/parts/cluster-form.ts'
import { type Field, object, opt, type Schema } from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import type { Fields } from '../../../schema/untyped.ts'

/** Where a provider reads its key. */
export type Credential = 'bearer' | 'x-api-key' | 'x-goog-api-key' | 'api-key'

/** What a call asks for: some providers want it in the path. */
export interface WireCall {
  readonly model: string
  readonly stream: boolean
}

/** A whole path; or one behind `base`, the provider's own or what stands in its place. */
export type WirePath = string | ((base: string, call: WireCall) => string)
export type WireFormats = Readonly<Partial<Record<WireFormat, WirePath | undefined>>>

/** Whether a name is one segment of a path, and stays one for whoever reads it. */
export function isSegment(name: string): boolean {
  return !/[/\\%?#<>"`{}|^\s\p{Cc}]/u.test(name) && name !== '' && name !== '.' && name !== '..'
}

/** A request body by its top-level members. */
export interface EditableBody {
  get(name: string): unknown
  /** Undefined removes the member. */
  set(name: string, value: unknown): void
}

export interface WireEdit extends WireCall {
  readonly format: WireFormat
  /** Of the client's request, as they go to the provider. */
  readonly headers: HeaderList
}

/** What depends on the family of the model that is asked for. */
export interface WireFamily {
  /** Formats that the provider speaks, with their own path where it is not base and format path. */
  readonly formats: WireFormats
  /** Of those, the ones whose calls have a form of the provider's own. */
  readonly plain?: Readonly<Partial<Record<FormatName, PlainCodec>>>
  /** Set unless the client has sent them. */
  readonly headers?: Readonly<Record<string, string>>
  /** The last change to a body. */
  edit?(body: EditableBody, about: WireEdit): void
}

/** How one provider is called, with its settings worked in. */
export interface Wire extends WireFamily {
  /** Undefined: the file must say where the provider is. */
  readonly host: string | undefined
  /** Where calls of a format go that the provider has on a host of its own. */
  readonly hosts?: Readonly<Partial<Record<WireFormat, string>>>
  /** Joined with a format's path, unless the format has its own. `pathPrefix` stands in its place. */
  readonly basePath: string
  /** The same where the client's path is kept. */
  readonly prefixReplacesBase: boolean
  /** Where models are called in different ways. Undefined: there can be no model of that name. */
  family?(model: string): WireFamily | undefined
  /** Fixed model, whatever the client asks for. */
  readonly model?: string | undefined
  readonly credential: Credential
  /** Puts on each call what the provider wants, unless the file says how to authenticate. */
  sign?(ctx: SignerContext): NonNullable<Target['sign']>
  /** Of servers for OpenAI's clients: they know `reasoning_content` in messages, where others refuse it. */
  readonly takesThoughts?: boolean
  /** Models whose `max_tokens` is called `max_completion_tokens`. */
  readonly maxCompletionTokens?: RegExp
  /** Never forwarded; a name that ends with `*` is a prefix. */
  readonly dropHeaders?: readonly string[]
}

/** How a provider is written in Kubernetes resources. */
export interface ProviderForm {
  /** The member of a ProxyBackend that names it. */
  readonly member: string
  readonly field: Field<unknown, 'optional'>
  /** The settings of the standalone provider. */
  convert(part: Fields, ctx: ClusterContext): Policies
  /** `provider` of a ProxyModel; unset: a model cannot name it. */
  readonly name?: string
  /** What a ProxyModel needs beside that name, and the parameters made of it. */
  readonly settings?: {
    readonly field: Field<unknown, 'optional'>
    params(part: Fields, ctx: ClusterContext): Policies
  }
}

/** Of providers that need no more than a model. */
export function modelOnly(member: string, name: string, title: string, doc: string): ProviderForm {
  return { member, name, field: opt(object(title, { model: clusterModel }), doc), convert: pickModel }
}

export const clusterModel = opt(shortString, 'The model; the one in the request when unset.')

export function pickModel(part: Fields): Policies {
  return defined({ model: part.model })
}

/** One LLM provider: what the file says about it and how it is called. One file each. */
export interface Provider<K extends string, S> {
  readonly key: K
  /** `gen_ai.provider.name`, and the provider's key in a cost catalog. */
  readonly telemetryName: string
  readonly doc: string
  readonly settings: Schema<S>
  /** How settings are called in `params` of the `llm` section, where not as they are. */
  readonly params?: Readonly<Partial<Record<keyof S & string, string>>>
  /** Unset: resources do not have it. */
  readonly cluster?: readonly ProviderForm[]
  wire(settings: S): Wire
}

export function defineProvider<const K extends string, S>(provider: Provider<K, S>): Provider<K, S> {
  return provider
}

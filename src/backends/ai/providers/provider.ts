import type { SignerContext } from '../../../auth/cloud/aws-signer.ts'
import type { HeaderList } from '../../../http/headers.ts'
import type { AwsScope, Target } from '../../../http/transport.ts'
import type { PlainCodec } from '../../../llm/chat/plain-conversion.ts'
import type { FormatName } from '../../../llm/formats/format.ts'
import type { WireFormat } from '../../../llm/formats/target-format.ts'
import { type ClusterContext, defined, type Policies } from '../../../policies/parts/cluster-form.ts'
import { type Field, object, opt, type Schema } from '../../../schema/builder.ts'
import { shortString } from '../../../schema/scalars.ts'
import type { Fields } from '../../../schema/untyped.ts'

/** Where a provider expects its key. */
export type Credential = 'bearer' | 'x-api-key' | 'x-goog-api-key' | 'api-key'

/** Details of a call that some providers put into the path. */
export interface WireCall {
  readonly model: string
  readonly stream: boolean
}

/** A whole path, or a function of `base`, which is the provider's own prefix or its replacement. */
export type WirePath = string | ((base: string, call: WireCall) => string)
export type WireFormats = Readonly<Partial<Record<WireFormat, WirePath | undefined>>>

/** Whether a name is a single path segment, and remains one for every parser. */
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
  /** Headers of the client's request, as sent to the provider. */
  readonly headers: HeaderList
}

/** What depends on the family of the requested model. */
export interface WireFamily {
  /** Supported formats, with a path where it is not base and format path. */
  readonly formats: WireFormats
  /** Of those, the formats for which the provider has calls of its own. */
  readonly plain?: Readonly<Partial<Record<FormatName, PlainCodec>>>
  /** Set unless the client sent them. */
  readonly headers?: Readonly<Record<string, string>>
  /** The final change to a body. */
  edit?(body: EditableBody, about: WireEdit): void
}

/** How one provider is called, with its settings resolved. */
export interface Wire extends WireFamily {
  /** Undefined: an address must be configured. */
  readonly host: string | undefined
  /** Hosts of formats that the provider serves on a separate host. */
  readonly hosts?: Readonly<Partial<Record<WireFormat, string>>>
  /** Joined with the format's path, unless the format has its own. `pathPrefix` replaces it. */
  readonly basePath: string
  /** The same where the client's path is kept. */
  readonly prefixReplacesBase: boolean
  /** The family of a model, where models are called differently. Undefined if no such model can exist. */
  family?(model: string): WireFamily | undefined
  /** Overrides the model that the client requests. */
  readonly model?: string | undefined
  readonly credential: Credential
  /** Signs or authenticates each call, unless authentication is configured. */
  sign?(ctx: SignerContext): NonNullable<Target['sign']>
  /** Also for credentials of the file. */
  readonly signedAs?: AwsScope
  /** For OpenAI-compatible servers: they accept `reasoning_content` in messages, where others reject it. */
  readonly takesThoughts?: boolean
  /** Models that name `max_tokens` `max_completion_tokens`. */
  readonly maxCompletionTokens?: RegExp
  /** Never forwarded; a trailing `*` makes it a prefix. */
  readonly dropHeaders?: readonly string[]
}

/** The form of a provider in Kubernetes resources. */
export interface ProviderForm {
  /** Its member in a ProxyBackend. */
  readonly member: string
  readonly field: Field<unknown, 'optional'>
  /** Converts to the settings of the standalone provider. */
  convert(part: Fields, ctx: ClusterContext): Policies
  /** Its `provider` value in a ProxyModel. Unset if a model cannot name it. */
  readonly name?: string
  /** Further settings of a ProxyModel, and the parameters that they become. */
  readonly settings?: {
    readonly field: Field<unknown, 'optional'>
    params(part: Fields, ctx: ClusterContext): Policies
  }
}

/** For providers that need no settings besides a model. */
export function modelOnly(member: string, name: string, title: string, doc: string): ProviderForm {
  return { member, name, field: opt(object(title, { model: clusterModel }), doc), convert: pickModel }
}

export const clusterModel = opt(shortString, 'The model; the one in the request when unset.')

export function pickModel(part: Fields): Policies {
  return defined({ model: part.model })
}

/** One LLM provider: its settings and how it is called. One file each. */
export interface Provider<K extends string, S> {
  readonly key: K
  /** `gen_ai.provider.name`, and the provider's key in a cost catalog. */
  readonly telemetryName: string
  readonly doc: string
  readonly settings: Schema<S>
  /** The names of settings in `params` of the `llm` section, where they differ. */
  readonly params?: Readonly<Partial<Record<keyof S & string, string>>>
  /** Unset if resources do not support it. */
  readonly cluster?: readonly ProviderForm[]
  wire(settings: S): Wire
}

export function defineProvider<const K extends string, S>(provider: Provider<K, S>): Provider<K, S> {
  return provider
}

/** Locations of an operation's parameters; each is a group of the tool's arguments. */
export const PARAMETER_PLACES = ['path', 'query', 'header', 'cookie'] as const
export type ParameterPlace = (typeof PARAMETER_PLACES)[number]

export interface Parameter {
  readonly name: string
  readonly in: ParameterPlace
  readonly required: boolean
  /** The serialization of lists and objects. */
  readonly style: string
  /** Each list item or object member is serialized separately. */
  readonly explode: boolean
  /** Reserved characters are not encoded. */
  readonly reserved: boolean
  /** The value is serialized as JSON. */
  readonly json: boolean
}

export interface RequestBody {
  readonly type: string
  readonly form: 'json' | 'urlencoded' | 'multipart' | 'text' | 'binary'
  readonly required: boolean
  /** Form members with base64-encoded bytes. */
  readonly files: readonly string[]
}

/** The API operation behind a tool. */
export interface Operation {
  readonly method: string
  /** With `{name}` for parameters; includes the server's base path. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly body: RequestBody | undefined
}

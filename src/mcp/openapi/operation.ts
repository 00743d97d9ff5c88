/** Where the parameters of an operation go; each is a group of a tool's arguments. */
export const PARAMETER_PLACES = ['path', 'query', 'header', 'cookie'] as const
export type ParameterPlace = (typeof PARAMETER_PLACES)[number]

export interface Parameter {
  readonly name: string
  readonly in: ParameterPlace
  readonly required: boolean
  /** How lists and objects are written. */
  readonly style: string
  /** Each item of a list, and each member of an object, stands for itself. */
  readonly explode: boolean
  /** Reserved characters stay as they are. */
  readonly reserved: boolean
  /** The value travels as JSON text. */
  readonly json: boolean
}

export interface RequestBody {
  readonly type: string
  readonly form: 'json' | 'urlencoded' | 'multipart' | 'text' | 'binary'
  readonly required: boolean
  /** Members of a form that hold bytes, as base64. */
  readonly files: readonly string[]
}

/** What a tool calls. */
export interface Operation {
  readonly method: string
  /** With `{name}` for parameters; begins with the path of the server. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  readonly body: RequestBody | undefined
}

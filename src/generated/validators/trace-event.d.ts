export interface SchemaError {
  readonly instancePath: string
  readonly schemaPath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
}
/** Says whether a parsed document fits the published JSON Schema; `errors` tells of the last one that did not. */
export declare const validate: {
  (document: unknown): boolean
  errors?: readonly SchemaError[] | null
}

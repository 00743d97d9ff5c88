/** Which backend answers a request. */
export interface BackendFacts {
  /** Unset if only a name is known. */
  readonly key?: string
  readonly name: string
  readonly kind: string
  readonly protocol: 'http' | 'tcp' | 'a2a' | 'mcp' | 'llm'
}

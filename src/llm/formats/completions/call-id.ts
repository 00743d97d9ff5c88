const SEPARATOR = '__thought__'

/** The id of a tool call carries Gemini's thought signature to clients that have no field for it, and back. */
export function joinSignature(id: string, signature: string | undefined): string {
  return signature === undefined ? id : `${id}${SEPARATOR}${signature}`
}

export function splitSignature(id: string): { readonly id: string; readonly signature?: string } {
  const at = id.indexOf(SEPARATOR)
  return at < 0 ? { id } : { id: id.slice(0, at), signature: id.slice(at + SEPARATOR.length) }
}

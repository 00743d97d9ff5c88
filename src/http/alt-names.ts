/** A subject alternative name: kind `DNS`, `URI`, `IP Address`, `email` or another. */
export interface AltName {
  readonly kind: string
  readonly name: string
}

const ENTRY = /(?:^|, )([^:,"]+):(?:"((?:[^"\\]|\\.)*)"|([^,"]*))(?=, |$)/gy

/**
 * Parses subject alternative names in Node.js's text form: `DNS:a.test, URI:"urn:a, b"`. Ambiguous names are quoted
 * there as JSON. Parsing stops at the first entry that is malformed.
 */
export function altNames(text: string): readonly AltName[] {
  return [...text.matchAll(ENTRY)].map(([, kind = '', quoted, plain = '']) => ({
    kind,
    name: quoted === undefined ? plain : (JSON.parse(`"${quoted}"`) as string),
  }))
}

/** The SPIFFE identity among the names; only URIs count, whatever other names look like. */
export function spiffeIdOf(names: readonly AltName[]): string | undefined {
  return names.find(({ kind, name }) => kind === 'URI' && name.startsWith('spiffe://'))?.name
}

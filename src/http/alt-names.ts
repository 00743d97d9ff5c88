/** A name that a certificate is for: of a `DNS`, `URI`, `IP Address`, `email` or another kind. */
export interface AltName {
  readonly kind: string
  readonly name: string
}

const ENTRY = /(?:^|, )([^:,"]+):(?:"((?:[^"\\]|\\.)*)"|([^,"]*))(?=, |$)/gy

/**
 * Reads the text in which Node.js gives the subject alternative names of a certificate: `DNS:a.test, URI:"urn:a, b"`.
 * A name that could be taken for several stands there as JSON. Nothing counts after what is not a name.
 */
export function altNames(text: string): readonly AltName[] {
  return [...text.matchAll(ENTRY)].map(([, kind = '', quoted, plain = '']) => ({
    kind,
    name: quoted === undefined ? plain : (JSON.parse(`"${quoted}"`) as string),
  }))
}

/** The SPIFFE identity among the names: a URI, whatever other names look like. */
export function spiffeIdOf(names: readonly AltName[]): string | undefined {
  return names.find(({ kind, name }) => kind === 'URI' && name.startsWith('spiffe://'))?.name
}

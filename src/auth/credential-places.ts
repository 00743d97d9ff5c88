import { isCredentialParameter } from '../http/credential-names.ts'
import { parameterName, parametersOf } from './credential.ts'

/** A configured location of a credential in requests. */
export interface CredentialPlace {
  readonly header?: { readonly name: string } | undefined
  readonly queryParameter?: { readonly name: string } | undefined
}

/** All credential locations of a configuration: logs and traces redact their values. Cookies are always redacted. */
export class CredentialPlaces {
  /** In lower case. */
  readonly headers = new Set<string>()
  readonly #parameters = new Set<string>()

  add({ header, queryParameter }: CredentialPlace): void {
    if (header) this.headers.add(header.name.toLowerCase())
    if (queryParameter) this.#parameters.add(queryParameter.name)
  }

  addAll(others: CredentialPlaces): void {
    for (const name of others.headers) this.headers.add(name)
    for (const name of others.#parameters) this.#parameters.add(name)
  }

  /** Redacts a path and its query; names that look like credentials are redacted regardless of configuration. */
  shown(path: string): string {
    if (!path.includes('?')) return path
    const { before, pairs } = parametersOf(path)
    if (!pairs.some(pair => this.#hides(parameterName(pair)))) return path
    const shown = pairs.map(pair => {
      const name = parameterName(pair)
      return this.#hides(name) ? `${encodeURIComponent(name)}=<redacted>` : pair
    })
    return `${before}?${shown.join('&')}`
  }

  /**
   * The same for a URL in a header field, including its fragment, which OAuth's implicit flow uses for its response.
   */
  shownAddress(address: string): string {
    const [place = '', fragment] = address.split(/#(.*)/s)
    const secret = fragment?.split('&').some(pair => this.#hides(parameterName(pair))) === true
    return this.shown(place) + (fragment === undefined ? '' : secret ? '#<redacted>' : `#${fragment}`)
  }

  #hides(parameter: string): boolean {
    return this.#parameters.has(parameter) || isCredentialParameter(parameter)
  }
}

import { isCredentialParameter } from '../http/credential-names.ts'
import { parameterName, parametersOf } from './credential.ts'

/** Where requests carry a credential, as a configuration says. */
export interface CredentialPlace {
  readonly header?: { readonly name: string } | undefined
  readonly queryParameter?: { readonly name: string } | undefined
}

/** All places of one configuration: logs and traces show that something stands there, not what. Cookies never show. */
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

  /** A path and its query as they may be shown: what is named like a credential is one, whatever is configured. */
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

  /** The same of an address in a header field: also its fragment, in which the implicit flow of OAuth answers. */
  shownAddress(address: string): string {
    const [place = '', fragment] = address.split(/#(.*)/s)
    const secret = fragment?.split('&').some(pair => this.#hides(parameterName(pair))) === true
    return this.shown(place) + (fragment === undefined ? '' : secret ? '#<redacted>' : `#${fragment}`)
  }

  #hides(parameter: string): boolean {
    return this.#parameters.has(parameter) || isCredentialParameter(parameter)
  }
}

import { CredentialPlaces } from '../auth/credential-places.ts'
import { isCredentialHeader } from '../http/credential-names.ts'
import type { AuthFacts, RequestHead, ResponseHead } from '../http/exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import type { HeadSnapshot } from '../trace/trace-event.ts'

/** Fields that hold URLs, whose queries may contain credentials. */
const ADDRESSES: ReadonlySet<string> = new Set(['location', 'content-location', 'referer', 'refresh', 'x-original-url'])

/** Redacted copies of heads for traces, unaffected by later changes. */
export class HeadSnapshots {
  readonly #sensitive: ReadonlySet<string>

  readonly #places: CredentialPlaces

  /** `sensitive`: names of further fields to redact, in lower case. */
  constructor(places: CredentialPlaces = new CredentialPlaces(), sensitive: Iterable<string> = []) {
    this.#places = places
    this.#sensitive = new Set([...places.headers, ...sensitive])
  }

  /** `auth`: the principal established so far. */
  request(head: Readonly<RequestHead>, { jwt, apiKey, basic }: Readonly<AuthFacts> = {}): HeadSnapshot {
    const url = `${head.scheme}://${head.authority}${this.#places.shown(head.path)}`
    return {
      method: head.method,
      url,
      headers: this.#headers(head.headers),
      ...(jwt && { jwt }),
      ...(apiKey && { apiKey: withoutKey(apiKey) }),
      ...(basic && { basicAuth: { username: basic.username } }),
    }
  }

  response(head: Readonly<ResponseHead>): HeadSnapshot {
    return { status: head.status, headers: this.#headers(head.headers) }
  }

  #headers({ raw }: HeaderList): HeadSnapshot['headers'] {
    const out: (readonly [string, string])[] = []
    for (let i = 0; i + 1 < raw.length; i += 2) {
      const name = raw[i] as string
      out.push([name, this.#shown(name.toLowerCase(), raw[i + 1] as string)])
    }
    return out
  }

  #shown(name: string, value: string): string {
    if (isCredentialHeader(name) || this.#sensitive.has(name)) return '<redacted>'
    return ADDRESSES.has(name) ? this.#places.shownAddress(value) : value
  }
}

function withoutKey({ key: _, ...metadata }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return metadata
}

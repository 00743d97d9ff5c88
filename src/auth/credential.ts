import type { Expression } from '../cel/expression.ts'
import type { Exchange } from '../http/exchange.ts'

/** Where to read a credential: exactly one member is set (specification, Authorization location types). */
export interface CredentialLocation {
  readonly header?: { readonly name: string; readonly prefix?: string }
  readonly queryParameter?: { readonly name: string }
  readonly cookie?: { readonly name: string }
  readonly expression?: Expression
}

export interface CredentialReader {
  /**
   * The credential without its prefix; undefined if the request has none. Repeated credentials are joined by `, `,
   * which no verification accepts, so that an unverified one cannot pass alongside.
   */
  read(x: Exchange): string | undefined
  /** Removes the credential from the request; one found by an expression stays. */
  strip(x: Exchange): void
}

export function createCredentialReader(location: CredentialLocation): CredentialReader {
  if (location.header) return headerReader(location.header.name, location.header.prefix ?? '')
  if (location.queryParameter) return queryReader(location.queryParameter.name)
  if (location.cookie) return cookieReader(location.cookie.name)
  return expressionReader(location.expression as Expression)
}

function headerReader(header: string, prefix: string): CredentialReader {
  const name = header.toLowerCase()
  const start = prefix.toLowerCase()
  return {
    read({ request }) {
      const { raw } = request.headers
      let found: string | undefined
      for (let i = 0; i < raw.length; i += 2) {
        const field = raw[i] as string
        if (field.length !== name.length || (field !== name && field.toLowerCase() !== name)) continue
        const value = raw[i + 1] as string
        if (!startsWith(value, start)) continue
        found = join(found, value.slice(start.length).trim())
      }
      return found
    },
    strip: ({ request }) => request.headers.delete(name),
  }
}

function startsWith(value: string, lowerPrefix: string): boolean {
  return lowerPrefix === '' || value.slice(0, lowerPrefix.length).toLowerCase() === lowerPrefix
}

function queryReader(name: string): CredentialReader {
  return {
    read({ request: { path } }) {
      let found: string | undefined
      for (const pair of parametersOf(path).pairs) {
        if (parameterName(pair) === name) found = join(found, decode(pair.slice(separator(pair) + 1)))
      }
      return found
    },
    strip({ request }) {
      const { before, pairs } = parametersOf(request.path)
      if (pairs.length === 0) return
      const kept = pairs.filter(pair => parameterName(pair) !== name)
      request.path = before + (kept.length > 0 ? `?${kept.join('&')}` : '')
    },
  }
}

function separator(pair: string): number {
  const at = pair.indexOf('=')
  return at < 0 ? pair.length : at
}

/** Splits `a=1&b=2` after the question mark into raw pairs. */
export function parametersOf(path: string): { readonly before: string; readonly pairs: readonly string[] } {
  const at = path.indexOf('?')
  return at < 0 ? { before: path, pairs: [] } : { before: path.slice(0, at), pairs: path.slice(at + 1).split('&') }
}

export function parameterName(pair: string): string {
  return decode(pair.slice(0, separator(pair)))
}

/** Form decoding; malformed text is returned as is. */
function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text
  const spaced = text.replaceAll('+', ' ')
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}

function cookieReader(name: string): CredentialReader {
  return {
    read({ request }) {
      let found: string | undefined
      for (const header of request.headers.getAll('cookie')) {
        for (const pair of header.split(';')) {
          if (cookieName(pair) === name) found = join(found, pair.slice(separator(pair) + 1).trim())
        }
      }
      return found
    },
    strip({ request }) {
      const kept = request.headers
        .getAll('cookie')
        .flatMap(header => header.split(';'))
        .filter(pair => cookieName(pair) !== name && pair.trim() !== '')
        .map(pair => pair.trim())
      if (kept.length > 0) request.headers.set('cookie', kept.join('; '))
      else request.headers.delete('cookie')
    },
  }
}

function cookieName(pair: string): string {
  return pair.slice(0, separator(pair)).trim()
}

function expressionReader(expression: Expression): CredentialReader {
  return {
    read(x) {
      const outcome = expression.evaluate(x)
      return outcome.ok && typeof outcome.value === 'string' && outcome.value !== '' ? outcome.value : undefined
    },
    strip() {},
  }
}

function join(found: string | undefined, next: string): string {
  return found === undefined ? next : `${found}, ${next}`
}

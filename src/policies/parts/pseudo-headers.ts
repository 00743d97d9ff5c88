import { readAuthority } from '../../http/authority.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { PathNormalizer } from '../../http/path-normalization.ts'
import { isRequestTarget } from '../../http/request-target.ts'

export type Assign = (x: Exchange, value: unknown) => void

/** Invalid values are ignored. */
export function setRequestPseudo(name: string, paths: PathNormalizer): Assign {
  const accept = (pattern: RegExp, assign: (x: Exchange, text: string) => void): Assign => {
    return (x, value) => {
      const text = asText(value)
      if (text !== undefined && pattern.test(text)) assign(x, text)
    }
  }
  switch (name) {
    case ':method':
      // CONNECT and other methods must not turn into each other.
      return accept(/^(?!connect$)[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/i, (x, text) => {
        if (x.request.method !== 'CONNECT' && (x.upgrade === undefined || text === 'GET')) x.request.method = text
      })
    case ':path':
      return accept(/^\//, (x, text) => {
        const path = isRequestTarget(text) ? usable(text, paths) : undefined
        if (path !== undefined) x.request.path = path
      })
    case ':scheme':
      return accept(/^https?$/, (x, text) => {
        x.request.scheme = text as 'http' | 'https'
      })
    default:
      return accept(/./, (x, text) => {
        const authority = readAuthority(text)
        if (authority === undefined) return
        x.request.authority = authority
        x.authorityFixed = true
      })
  }
}

/** A path may be built from client input, so the rules for client paths apply to it too. */
function usable(path: string, paths: PathNormalizer): string | undefined {
  try {
    return paths.normalize(path)
  } catch {
    return undefined
  }
}

export function asText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return Buffer.isBuffer(value) ? value.toString('utf8') : undefined
}

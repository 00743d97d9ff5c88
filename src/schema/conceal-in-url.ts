/**
 * Conceals two parts of every URL in the text: what precedes its `@`, and the values of its query, including one that
 * is not a pair. A bare path may have a query too.
 */
export function concealInUrl(text: string, conceal: (secret: string) => string): string {
  const user = (_: string, before: string, secret: string) => `${before}${conceal(secret)}@`
  const shown = text.replace(AFTER_SCHEME, user).replace(WITHOUT_SCHEME, user)
  if (!/^\/|:\/\//.test(text)) return shown
  return shown.replace(QUERY, query => query.split('&').map(value).join('&'))

  function value(pair: string): string {
    const at = pair.indexOf('=') + 1
    const secret = pair.slice(at)
    return secret === '' ? pair : pair.slice(0, at) + conceal(secret)
  }
}

/** A URL for a message. */
export function withoutSecrets(text: string): string {
  return concealInUrl(text, () => '***')
}

const AFTER_SCHEME = /([a-z][a-z0-9+.-]*:\/\/)([^/?#\s]+)@/gi
const WITHOUT_SCHEME = /^((?:\/\/)?)([^/?#\s@:]+:[^/?#\s@]+)@/
const QUERY = /(?<=\?)[^#\s]+/g

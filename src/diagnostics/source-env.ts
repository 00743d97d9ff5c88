/** A scalar's text after expansion, or the error. Offsets refer to the original text. */
export interface Expansion {
  readonly text: string
  readonly changed: boolean
  readonly missing?: { readonly name: string; readonly start: number; readonly end: number }
  /** `${` that starts no reference. */
  readonly malformed?: { readonly start: number; readonly end: number }
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * `$NAME`, `${NAME}`, `${NAME:-default}` (used if the variable is unset or empty), `$$` for a dollar sign. A `$` before
 * anything else is kept. Values are not expanded again, and never parsed as YAML.
 */
export function expandVariables(text: string, env: Environment): Expansion {
  if (!text.includes('$')) return { text, changed: false }
  const opening = /\$(?:\$|([A-Za-z_]\w*)|\{)/g
  let out = ''
  let done = 0
  let missing: Expansion['missing']
  for (let match = opening.exec(text); match; match = opening.exec(text)) {
    const start = match.index
    let end = opening.lastIndex
    let name = match[1]
    let fallback: string | undefined
    if (match[0] === '${') {
      const close = text.indexOf('}', end)
      const inner = /^([A-Za-z_]\w*)(?::-([\s\S]*))?$/.exec(close < 0 ? '' : text.slice(end, close))
      if (!inner) return { text, changed: false, malformed: { start, end: close < 0 ? end : close + 1 } }
      name = inner[1]
      fallback = inner[2]
      end = close + 1
    }
    out += text.slice(done, start)
    if (name === undefined) out += '$'
    else {
      const value = lookUp(env, name, fallback)
      if (value === undefined) missing ??= { name, start, end }
      out += value ?? text.slice(start, end)
    }
    done = end
    opening.lastIndex = end
  }
  out += text.slice(done)
  return { text: out, changed: out !== text, ...(missing === undefined ? {} : { missing }) }
}

function lookUp(env: Environment, name: string, fallback: string | undefined): string | undefined {
  const value = Object.hasOwn(env, name) ? env[name] : undefined
  return fallback !== undefined && (value === undefined || value === '') ? fallback : value
}

import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import type { Entry } from './output.ts'

/** Standalone matches of an HTTPRoute rule. */
export function httpMatches(rule: Fields): Entry[] {
  const matches = asItems(rule.matches)
  return (matches.length === 0 ? [{}] : matches).map(httpMatch)
}

function httpMatch(match: Fields): Entry {
  const out: Entry = { path: pathOf(asFields(match.path) ?? {}) }
  if (asText(match.method) !== undefined) out.method = match.method
  const headers = firstOfEachName(asItems(match.headers)).map(valueMatch)
  if (headers.length > 0) out.headers = headers
  const query = asItems(match.queryParams).map(valueMatch)
  if (query.length > 0) out.query = query
  return out
}

function pathOf({ type = 'PathPrefix', value = '/' }: Fields): Entry {
  const path = String(value)
  if (type === 'RegularExpression') return { regex: path }
  const rooted = path.startsWith('/') ? path : `/${path}`
  if (type === 'Exact') return { exact: rooted }
  return { pathPrefix: rooted.length > 1 ? rooted.replace(/\/$/, '') : rooted }
}

/** The Gateway API ignores repeated entries for a header; the API server rejects only identical spellings. */
function firstOfEachName(headers: readonly Fields[]): Fields[] {
  const names = headers.map(({ name }) => asText(name)?.toLowerCase())
  return headers.filter((_, index) => names.indexOf(names[index]) === index)
}

function valueMatch({ name, type, value }: Fields): Entry {
  return { name, value: type === 'RegularExpression' ? { regex: value } : { exact: value } }
}

/** Standalone matches of a GRPCRoute rule: every call is a POST to `/service/method`. */
export function grpcMatches(rule: Fields): Entry[] {
  const matches = asItems(rule.matches)
  return (matches.length === 0 ? [{}] : matches).map(match => {
    const out: Entry = { path: grpcPath(asFields(match.method) ?? {}) }
    const headers = firstOfEachName(asItems(match.headers)).map(valueMatch)
    if (headers.length > 0) out.headers = headers
    return out
  })
}

function grpcPath({ type, service, method }: Fields): Entry {
  const [s, m] = [asText(service), asText(method)]
  if (type === 'RegularExpression') {
    return { regex: `/${s ?? '[^/]+'}/${m ?? '[^/]+'}` }
  }
  if (s !== undefined && m !== undefined) return { exact: `/${s}/${m}` }
  if (s !== undefined) return { pathPrefix: `/${s}` }
  return m === undefined ? { pathPrefix: '/' } : { regex: `/[^/]+/${m.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}` }
}

/** The intersection of both matches: a delegated route applies only within its parent's. Undefined if it is empty. */
export function bothMatch(outer: Entry, inner: Entry): Entry | undefined {
  const path = bothPaths(outer.path as Entry, inner.path as Entry)
  if (!path) return undefined
  if (outer.method !== undefined && inner.method !== undefined && outer.method !== inner.method) return undefined
  const out: Entry = { path }
  const method = inner.method ?? outer.method
  if (method !== undefined) out.method = method
  for (const name of ['headers', 'query']) {
    const all = [...((outer[name] ?? []) as Entry[]), ...((inner[name] ?? []) as Entry[])]
    const seen = new Map(all.map(each => [JSON.stringify(each), each]))
    if (seen.size > 0) out[name] = [...seen.values()]
  }
  return out
}

function bothPaths(outer: Entry, inner: Entry): Entry | undefined {
  const [a, b] = [outer.pathPrefix as string | undefined, inner.pathPrefix as string | undefined]
  if (a !== undefined && b !== undefined)
    return within(b, a) ? { pathPrefix: b } : within(a, b) ? { pathPrefix: a } : undefined
  if (outer.exact !== undefined && inner.exact !== undefined) return outer.exact === inner.exact ? inner : undefined
  if (a !== undefined && inner.exact !== undefined) return within(String(inner.exact), a) ? inner : undefined
  if (outer.exact !== undefined && b !== undefined) return within(String(outer.exact), b) ? outer : undefined
  if (a === '/') return inner
  if (b === '/') return outer
  // A pattern cannot be combined with another path match: the child's wins.
  return inner.regex === undefined ? outer : inner
}

/** Whether a path is below a prefix of whole segments. */
function within(path: string, prefix: string): boolean {
  return prefix === '/' || path === prefix || path.startsWith(`${prefix}/`)
}

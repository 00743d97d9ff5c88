import type { DumpDocument, DumpRoute } from '../../config-dump/model.ts'
import { sampleOf } from './pattern-sample.ts'
import { elsewhere, type Probe, SOME_HOST, withHeaders } from './probe.ts'

/** Maximum number of conditions per route that are considered. */
const MAX_MATCHES = 4
/** A path segment that no route matches by name. */
const ELSEWHERE = 'elsewhere'

/** One request per match of a route; none for conditions that cannot be read. */
export function entryProbes(dump: DumpDocument, route: DumpRoute): Probe[] {
  const listener = dump.listeners.find(({ key }) => key === route.listener)
  const port = dump.binds.find(({ key }) => key === listener?.bind)?.port
  if (route.kind !== 'http' || listener === undefined || port === undefined) return []
  const scheme = listener.protocol === 'HTTPS' ? 'https' : 'http'
  const host = hostFor([...route.hostnames, listener.hostname])
  return route.matches.slice(0, MAX_MATCHES).flatMap(match => {
    const { path, method, headers, query } = match as Partial<RouteCondition>
    const way = pathFor(path ?? {})
    const fields = samples(headers)
    const params = samples(query)
    if (way === undefined || fields === undefined || params === undefined) return []
    const url = new URL(`${scheme}://${host}:${port}${way}`)
    for (const [name, value] of params) url.searchParams.set(name, value)
    const own = fields.filter(([name]) => !name.startsWith(':'))
    const request = { method: method ?? 'GET', url: url.href, headers: own, port }
    return [{ request, words: own.map(([name, value]) => `${name}: ${value}`), calls: 1 }]
  })
}

/** The conditions of a route in a dump. */
interface RouteCondition {
  readonly path: { readonly exact?: string; readonly pathPrefix?: string; readonly regex?: string }
  readonly method: string
  readonly headers: readonly Named[]
  readonly query: readonly Named[]
}
interface Named {
  readonly name: string
  readonly value: { readonly exact?: string; readonly regex?: string }
}

/** The same request with each condition violated in turn. */
export function boundaryProbes({ request, words, ...rest }: Probe): Probe[] {
  const { pathname, hostname, searchParams } = new URL(request.url)
  const path = pathname.replace(/\/$/, '')
  const paths = [`${path}/${ELSEWHERE}`, `${path}${ELSEWHERE}`, `${path}/`, path.replace(/\/[^/]*$/, '') || '/']
  const urls = [
    ...paths.filter(each => each !== pathname).map(each => elsewhere(request.url, { pathname: each })),
    ...(hostname === SOME_HOST ? [] : [elsewhere(request.url, { hostname: `${ELSEWHERE}.test` })]),
  ]
  const other = request.method === 'GET' ? 'POST' : 'GET'
  return [
    ...urls.map(href => ({ request: { ...request, url: href }, words })),
    { request: { ...request, method: other }, words },
    ...request.headers.flatMap(([name, value]) => [
      { request: { ...request, headers: request.headers.filter(([each]) => each !== name) }, words: [`no ${name}`] },
      {
        request: { ...request, headers: withHeaders(request.headers, { [name]: `not-${value}` }) },
        words: [`${name}: not-${value}`],
      },
    ]),
    ...[...searchParams.keys()].map(name => ({ request: { ...request, url: withoutParam(request.url, name) }, words })),
  ].map(each => ({ ...rest, ...each }))
}

function withoutParam(href: string, name: string): string {
  const url = new URL(href)
  url.searchParams.delete(name)
  return url.href
}

function hostFor(names: readonly string[]): string {
  const name = names.find(each => each !== '' && each !== '*')
  return name?.replace(/^\*/, 'some') ?? SOME_HOST
}

function pathFor({ exact, pathPrefix, regex }: RouteCondition['path']): string | undefined {
  if (regex === undefined) return exact ?? pathPrefix ?? '/'
  const text = sampleOf(regex)
  return text?.startsWith('/') ? text : undefined
}

function samples(named: readonly Named[] = []): (readonly [string, string])[] | undefined {
  const out: (readonly [string, string])[] = []
  for (const { name, value } of named) {
    const text = value.exact ?? (value.regex === undefined ? 'x' : sampleOf(value.regex))
    if (text === undefined) return undefined
    out.push([name, text])
  }
  return out
}

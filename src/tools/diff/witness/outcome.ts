import type { DryCall, DryOutcome } from '../../dry-run/dry-run.ts'

/** The result of a request: an outcome, or why the port rejects it. */
export type Result = DryOutcome | { readonly refused: string }

/** A difference between the outcomes of one request. */
export interface OutcomeDifference {
  /** `status`, `call`, `request header x-team`, `response body` … */
  readonly what: string
  readonly before: string
  readonly after: string
}

/** Different on every run, and irrelevant here. */
const VOLATILE: ReadonlySet<string> = new Set(['mcp-session-id', 'traceparent', 'tracestate', 'x-request-id', 'date'])
const UNSET = 'unset'

/** The differences between two outcomes. If the status differs, the rest follows from that. */
export function outcomeDifferences(before: Result, after: Result): OutcomeDifference[] {
  const [left, right] = [statusOf(before), statusOf(after)]
  if (left !== right) return differ('status', left, right)
  if ('refused' in before || 'refused' in after) return []
  return [
    ...callDifferences(before.upstream, after.upstream),
    ...fieldDifferences('response header', before, after, ['content-length']),
    ...(before.body.equals(after.body) ? [] : differ('response body', textOf(before.body), textOf(after.body))),
  ]
}

function statusOf(result: Result): string {
  return 'refused' in result ? result.refused : String(result.status ?? 'no response')
}

function callDifferences(before: readonly DryCall[], after: readonly DryCall[]): OutcomeDifference[] {
  const [left, right] = [before.map(placeOf), after.map(placeOf)]
  const elsewhere = left.join('\n') !== right.join('\n')
  const call = elsewhere ? differ('call', wordsOf(before), wordsOf(after)) : []
  if (before.length !== after.length) return call
  // Another backend implies another host.
  const passed = elsewhere ? ['content-length', 'host'] : ['content-length']
  const inside = before.flatMap((call, i) => {
    const other = after[i] as DryCall
    const bodies = call.purpose === 'backend' ? [call, other].map(({ body }) => textOf(body)) : []
    return [
      ...fieldDifferences('request header', call, other, passed),
      // Requests from policies to services may contain credentials.
      ...(call.body.equals(other.body) ? [] : differ('request body', bodies[0] ?? HIDDEN, bodies[1] ?? HIDDEN)),
    ]
  })
  return [...call, ...inside]
}

const HIDDEN = '<redacted>'

/** Everything that identifies the destination of a call. */
function placeOf(call: DryCall): string {
  return JSON.stringify([call.purpose, call.method, addressOf(call), call.url.replace(/^(\w+:)\/\/[^/]*/, '$1')])
}

/** The same for people, without credentials. */
function wordsOf(calls: readonly DryCall[]): string {
  if (calls.length === 0) return 'none'
  const words = calls.map(call => {
    const url = (call.shown.url ?? '').replace(/^(\w+:\/\/)[^/]*/, `$1${addressOf(call)}`)
    return `${call.method} ${url}${call.purpose === 'backend' ? '' : ' (by a policy)'}`
  })
  return words.join(', ')
}

/** The address of a call, whatever host it names. */
export function addressOf({ names, authority }: DryCall): string {
  return names.find(name => /^[^/]*:\d+$/.test(name)) ?? authority
}

type Headed = Pick<DryCall, 'headers' | 'shown'> | Pick<DryOutcome, 'headers' | 'shown'>

function fieldDifferences(what: string, before: Headed, after: Headed, passed: readonly string[]): OutcomeDifference[] {
  const [left, right] = [fieldsOf(before.headers), fieldsOf(after.headers)]
  const [seenLeft, seenRight] = [fieldsOf(before.shown?.headers ?? []), fieldsOf(after.shown?.headers ?? [])]
  const names = [...new Set([...left.keys(), ...right.keys()])]
  return names.flatMap(name => {
    const [a, b] = [left.get(name), right.get(name)]
    if (a === b || VOLATILE.has(name) || passed.includes(name) || bothTokens(a, b)) return []
    return differ(`${what} ${name}`, seenLeft.get(name) ?? UNSET, seenRight.get(name) ?? UNSET)
  })
}

function fieldsOf(headers: readonly (readonly [string, string])[]): ReadonlyMap<string, string> {
  const out = new Map<string, string>()
  for (const [name, value] of headers) {
    const key = name.toLowerCase()
    const known = out.get(key)
    out.set(key, known === undefined ? value : `${known}, ${value}`)
  }
  return out
}

/** Each side signs its callers' tokens with a key of its own. */
function bothTokens(before: string | undefined, after: string | undefined): boolean {
  const token = /^Bearer [\w-]+\.[\w-]+\.[\w-]+$/i
  return before !== undefined && after !== undefined && token.test(before) && token.test(after)
}

function differ(what: string, before: string, after: string): OutcomeDifference[] {
  return [{ what, before, after }]
}

/** A list of tools is compared by names. */
function textOf(body: Buffer): string {
  if (body.length === 0) return 'empty'
  const text = body.toString('utf8', 0, SHOWN_BYTES)
  if (!text.includes('"tools":[')) return text
  const names = [...text.matchAll(/"name":"([^"]*)"/g)].map(([, name]) => name)
  return `tools ${names.length === 0 ? 'none' : names.join(', ')}`
}

const SHOWN_BYTES = 4000

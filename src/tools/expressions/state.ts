import { VARIABLES } from '../../cel/variables.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { HeadSnapshots } from '../../engine/head-snapshot.ts'
import { arrivedExchange } from '../../engine/inbound/arrived-exchange.ts'
import { hostOf } from '../../engine/route-table.ts'
import { bodyOf, type Exchange } from '../../http/exchange.ts'
import { HeaderList } from '../../http/headers.ts'
import { askedFor } from '../dry-run/dry-request.ts'
import type { DryRequest } from '../dry-run/dry-run.ts'

type Json = Readonly<Record<string, unknown>>

/** The input of an evaluation. */
export interface EvalState {
  readonly exchange: Exchange
  /** Variables given by name, which take precedence. */
  readonly extra: Json
}

/** The state of a request on arrival. `time`: ms since the epoch. */
export function stateOf(request: DryRequest, time: number, given: Json): EvalState {
  const headers = new HeaderList()
  for (const [name, value] of request.headers) headers.append(name, value)
  const { scheme = 'http', authority = 'localhost', port = 80, path } = askedFor(request)
  if (!headers.has('host')) headers.append('host', authority)
  const connection = {
    id: 1,
    address: request.source ?? '127.0.0.1',
    port: 1,
    localPort: port,
    ...(scheme === 'https' ? { tls: { sni: request.sni ?? hostOf(authority), protocol: 'TLSv1.3' } } : {}),
  }
  const head = { method: request.method, scheme, authority, path, headers }
  const clock = { now: () => time, mono: () => 0 }
  const exchange = arrivedExchange('eval', connection, { httpVersion: '1.1', head, body: bodyOf(request.body) }, clock)
  if (request.jwt) exchange.auth.jwt = request.jwt
  if (typeof request.apiKey === 'object') exchange.auth.apiKey = request.apiKey
  return { exchange, extra: { ...bodyVariables(request.body), ...given } }
}

/** Protocol variables that follow from the body. */
function bodyVariables(body: Buffer | undefined): Json {
  const message = jsonIn(body)
  if (message === undefined) return {}
  const { jsonrpc, method, params } = message
  if (jsonrpc !== '2.0' || typeof method !== 'string') return { llmRequest: message }
  const [kind] = /^(?:tool|prompt)(?=s\/(?:call|get)$)/.exec(method) ?? []
  const named = kind === undefined ? {} : { [kind]: { name: (params as Json | undefined)?.name } }
  return { mcp: { methodName: method, ...named } }
}

function jsonIn(body: Buffer | undefined): Json | undefined {
  try {
    const value: unknown = JSON.parse(body?.toString() ?? '')
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
  } catch {
    return undefined
  }
}

/** Throws a Failure `input` for an unknown variable name. */
export function checkVariables(given: Json, file: string): void {
  const known = VARIABLES.map(({ name }) => name)
  const wrong = Object.keys(given).find(name => !known.includes(name))
  if (wrong === undefined) return
  const guess = didYouMean(wrong, known)
  throw new Failure(
    'input',
    `${file}: ${wrong} is not a variable of expressions${guess === undefined ? '.' : `: ${guess}`}`,
    {
      help: `Variables: ${known.join(', ')}.`,
    },
  )
}

/** Texts that must not appear in results: everything that a trace would redact, and the credential within. */
export function secretsOf({ exchange: { request }, extra }: EvalState): readonly string[] {
  const given = ['request', 'response'].flatMap(name => fieldsIn((extra[name] as Json | undefined)?.headers) ?? [])
  const values = [request.headers, ...given].flatMap(hiddenIn)
  const parts = values.flatMap(value => [value, value.replace(/^\w+ +/, ''), ...value.split(/; */)])
  const telling = [...new Set(parts)].filter(value => value.length > 3 && value !== REDACTED)
  return telling.toSorted((a, b) => b.length - a.length)
}

const REDACTED = '<redacted>'

function hiddenIn(headers: HeaderList): string[] {
  const shown = new HeadSnapshots().response({ status: 200, headers }).headers
  return shown.flatMap(([, value], i) => (value === REDACTED ? [headers.raw[i * 2 + 1] as string] : []))
}

function fieldsIn(headers: unknown): HeaderList | undefined {
  if (headers instanceof HeaderList) return headers
  if (typeof headers !== 'object' || headers === null) return undefined
  const list = new HeaderList()
  for (const [name, value] of Object.entries(headers))
    for (const each of [value].flat()) list.append(name, String(each))
  return list
}

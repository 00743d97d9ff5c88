// Rewrites heads and bodies by expressions. A header whose expression fails is removed, so that a client cannot pass off
// its own value for one that the gateway means to set.
import type { Expression } from '../cel/expression.ts'
import type { Exchange } from '../http/exchange.ts'
import { isFieldName, toFieldValue } from '../http/field-value.ts'
import type { HeaderList } from '../http/headers.ts'
import {
  type CelResult,
  cel,
  type Infer,
  list,
  map,
  type ObjectOf,
  object,
  opt,
  type Problem,
  string,
} from '../schema/builder.ts'
import { compileConditional, conditional, fallbackComesLast } from './parts/conditional.ts'
import { bodiesFor, toBody } from './parts/request-body.ts'
import { type BodyHook, definePolicy, type Hooks, type Limits } from './policy.ts'

const REQUEST_PSEUDO = [':method', ':path', ':scheme', ':authority']
const RESPONSE_PSEUDO = [':status']

function side(scope: 'request' | 'response', header: CelResult, pseudo: readonly string[]) {
  const keys = (name: string): Problem | undefined =>
    isFieldName(name) || pseudo.includes(name)
      ? undefined
      : { message: `\`${name}\` is not a header name`, help: `besides headers, ${pseudo.join(', ')} can be set` }
  return object(`${scope} transformation`, {
    metadata: opt(map(cel(scope, 'any'), { max: 64 }), 'Values for later expressions, under `metadata`.'),
    replace: opt(cel(scope, 'map'), 'A map that all headers are replaced with.'),
    add: opt(map(cel(scope, header), { keys, max: 64 }), 'Header values to add.'),
    set: opt(map(cel(scope, header), { keys, max: 64 }), 'Header values that replace those already there.'),
    remove: opt(
      list(string({ min: 1, max: 256, pattern: /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, form: 'a header name' }), { max: 64 }),
      'Headers to remove.',
    ),
    body: opt(cel(scope, 'body'), 'The new body: text and bytes as they are, other values as JSON.'),
  })
}

/** In a response a number may stand for `:status`, so the type of a header is only known when it is evaluated. */
const requestSide = side('request', 'string', REQUEST_PSEUDO)
const responseSide = side('response', 'any', RESPONSE_PSEUDO)
type Side = Infer<typeof requestSide>

const fields = {
  request: opt(requestSide, 'What becomes of the request.'),
  response: opt(responseSide, 'What becomes of the response, also of one that the gateway made.'),
}
const schema = object(
  'transformations',
  { ...fields, conditional: conditional('transformations entry', fields) },
  {
    atMostOneOf: [
      ['request', 'conditional'],
      ['response', 'conditional'],
    ],
    check: fallbackComesLast,
  },
)

export const transformations = definePolicy({
  name: 'transformations',
  doc: 'Rewrites headers and bodies by expressions.',
  attach: ['listener', 'route', 'backend', 'target'],
  schema,
  compile(spec, { limits }) {
    const { conditional: entries } = spec
    return entries
      ? compileConditional(entries, limits, entry => compileSides(entry, limits))
      : compileSides(spec, limits)
  },
})

function compileSides({ request, response }: ObjectOf<typeof fields>, limits: Limits): Hooks {
  const needs = bodiesFor([...expressionsOf(request), ...headExpressionsOf(response)], limits)
  const answering = response ? compileResponse(response, limits) : {}
  return { ...(request ? compileRequest(request) : {}), ...answering, ...needs }
}

function headExpressionsOf(spec: Side | undefined): (Expression | undefined)[] {
  if (!spec) return []
  return [spec.replace, ...[spec.metadata, spec.add, spec.set].flatMap(each => Object.values(each ?? {}))]
}

function expressionsOf(spec: Side | undefined): (Expression | undefined)[] {
  return [...headExpressionsOf(spec), spec?.body]
}

function compileRequest(spec: Side): Hooks {
  const { body } = spec
  const changeHead = compileHead(spec, setRequestPseudo)
  function transformRequest(x: Exchange): undefined {
    changeHead(x, x.request.headers)
    if (body === undefined) return
    const outcome = body.evaluate(x)
    x.body.replace(outcome.ok ? toBody(outcome.value) : Buffer.alloc(0))
    dropBodyHeaders(x.request.headers)
  }
  return { request: transformRequest }
}

function compileResponse(spec: Side, limits: Limits): Hooks {
  const { body } = spec
  const changeHead = compileHead(spec, setResponsePseudo)
  function transformResponse(x: Exchange): void {
    if (!x.response) return
    changeHead(x, x.response.headers)
    if (body !== undefined) dropBodyHeaders(x.response.headers)
  }
  if (body === undefined) return { response: transformResponse }
  return { response: transformResponse, responseBody: x => replaceBody(x, body, limits) }
}

/** They describe the body that is gone. */
function dropBodyHeaders(headers: HeaderList): void {
  headers.delete('content-length')
  headers.delete('content-encoding')
}

/** Swallows the body, and keeps it only for an expression that reads it. */
function replaceBody(x: Exchange, body: Expression, { maxBuffer }: Limits): BodyHook {
  const chunks: Buffer[] = []
  let size = 0
  return {
    chunk(data) {
      size += data.length
      if (!body.readsResponseBody) return undefined
      if (size <= maxBuffer) chunks.push(data)
      else chunks.length = 0
      return undefined
    },
    end() {
      if (x.response && body.readsResponseBody && size <= maxBuffer) x.response.body = Buffer.concat(chunks)
      const outcome = body.evaluate(x)
      return outcome.ok ? toBody(outcome.value) : Buffer.alloc(0)
    },
  }
}

type Assign = (x: Exchange, value: unknown) => void
type PseudoSetter = (name: string) => Assign

/** Metadata first, so that the headers can name it; then replace, add, set, remove. */
function compileHead(spec: Side, pseudo: PseudoSetter): (x: Exchange, headers: HeaderList) => void {
  const metadata = Object.entries(spec.metadata ?? {})
  const { replace } = spec
  const add = Object.entries(spec.add ?? {}).map(([name, value]) => compileField(name, value, pseudo, true))
  const set = Object.entries(spec.set ?? {}).map(([name, value]) => compileField(name, value, pseudo, false))
  const remove = (spec.remove ?? []).map(name => name.toLowerCase()).filter(name => name !== 'host')
  return (x, headers) => {
    for (const [name, expression] of metadata) {
      const outcome = expression.evaluate(x)
      if (outcome.ok) x.metadata[name] = outcome.value
    }
    if (replace !== undefined) replaceAll(replace, x, headers)
    for (const change of add) change(x, headers)
    for (const change of set) change(x, headers)
    for (const name of remove) headers.delete(name)
  }
}

function compileField(
  name: string,
  expression: Expression,
  pseudo: PseudoSetter,
  append: boolean,
): (x: Exchange, headers: HeaderList) => void {
  if (name.startsWith(':') || (name.toLowerCase() === 'host' && pseudo === setRequestPseudo)) {
    const assign = pseudo(name)
    return x => {
      const outcome = expression.evaluate(x)
      if (outcome.ok) assign(x, outcome.value)
    }
  }
  return (x, headers) => {
    const outcome = expression.evaluate(x)
    const text = outcome.ok ? asText(outcome.value) : undefined
    const value = text === undefined ? undefined : toFieldValue(text)
    if (value === undefined) headers.delete(name)
    else if (append) headers.append(name, value)
    else headers.set(name, value)
  }
}

function asText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return Buffer.isBuffer(value) ? value.toString('utf8') : undefined
}

/** Anything but a map leaves the headers alone; entries that cannot be headers are left out. */
function replaceAll(expression: Expression, x: Exchange, headers: HeaderList): void {
  const outcome = expression.evaluate(x)
  if (!outcome.ok) return
  const entries = Object.entries(outcome.value as Readonly<Record<string, unknown>>)
  headers.clear()
  for (const [name, value] of entries) {
    if (!isFieldName(name) || name.toLowerCase() === 'host') continue
    for (const each of Array.isArray(value) ? value : [value]) {
      const text = ['number', 'bigint', 'boolean'].includes(typeof each) ? String(each) : asText(each)
      const line = text === undefined ? undefined : toFieldValue(text)
      if (line !== undefined) headers.append(name, line)
    }
  }
}

/** What is no usable value changes nothing. */
function setRequestPseudo(name: string): Assign {
  const accept = (pattern: RegExp, assign: (x: Exchange, text: string) => void): Assign => {
    return (x, value) => {
      const text = asText(value)
      if (text !== undefined && pattern.test(text)) assign(x, text)
    }
  }
  switch (name) {
    case ':method':
      return accept(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, (x, text) => {
        x.request.method = text
      })
    case ':path':
      return accept(/^\/[\x21-\x7e\x80-\xff]*$/, (x, text) => {
        x.request.path = text
      })
    case ':scheme':
      return accept(/^https?$/, (x, text) => {
        x.request.scheme = text as 'http' | 'https'
      })
    default:
      return accept(/^[\x21-\x2e\x30-\x3e\x41-\x5b\x5d-\x7e]+$/, (x, text) => {
        x.request.authority = text
        x.authorityFixed = true
      })
  }
}

function setResponsePseudo(): Assign {
  return (x, value) => {
    const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value
    if (typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599 && x.response) {
      x.response.status = status
    }
  }
}

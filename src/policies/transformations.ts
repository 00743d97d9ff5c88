// Rewrites heads and bodies by expressions. A header whose expression fails is removed, so that a client cannot pass
// off its own value as the gateway's.

import type { BodyHook } from '../calls/step.ts'
import type { Expression } from '../cel/expression.ts'
import { FailedValue } from '../cel/json-view.ts'
import type { Exchange } from '../http/exchange.ts'
import { isFieldName, toFieldValue } from '../http/field-value.ts'
import type { HeaderList } from '../http/headers.ts'
import { keepChunk } from '../http/keep-chunk.ts'
import {
  type CelResult,
  type CelScope,
  cel,
  type Infer,
  list,
  map,
  type ObjectOf,
  object,
  opt,
  type Problem,
  req,
  string,
} from '../schema/builder.ts'
import { pseudoHeaderName, set } from '../schema/resource-scalars.ts'
import { conditional as variantsInCluster } from '../schema/resource-variants.ts'
import { asFields, type Fields } from '../schema/untyped.ts'
import { byName, copied, defined, type Policies, strings, variants } from './parts/cluster-form.ts'
import { compileConditional, conditional, fallbackComesLast } from './parts/conditional.ts'
import { credentialExpression, evaluateHeader, headerExpressions } from './parts/header-expressions.ts'
import { type Assign, asText, setRequestPseudo } from './parts/pseudo-headers.ts'
import { bodiesFor, toBody } from './parts/request-body.ts'
import { definePolicy, type Hooks, type Limits } from './policy.ts'

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
    add: opt(headerExpressions(scope, header, { keys }), 'Header values to add.'),
    set: opt(headerExpressions(scope, header, { keys }), 'Header values that replace those already there.'),
    remove: opt(
      list(string({ min: 1, max: 256, pattern: /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, form: 'a header name' }), { max: 64 }),
      'Headers to remove.',
    ),
    body: opt(cel(scope, 'body'), 'The new body: text and bytes as they are, other values as JSON.'),
  })
}

/** In a response a number may be the value of `:status`, so a header's type is checked only on evaluation. */
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

function clusterSide(scope: CelScope) {
  const computed = object(
    'computed header',
    {
      name: req(pseudoHeaderName, 'The name of the header field.'),
      value: req(cel(scope, 'any'), 'Its value.'),
    },
    { secretField: credentialExpression },
  )
  const headers = list(computed, { min: 1, max: 16, unique: ['name'] })
  return object(
    'transform',
    {
      set: opt(headers, 'Fields to replace.'),
      add: opt(headers, 'Fields to add.'),
      remove: opt(set(pseudoHeaderName, { min: 1, max: 16 }), 'Fields to remove.'),
      body: opt(cel(scope, 'any'), 'The body.'),
      metadata: opt(
        map(cel(scope, 'any'), { min: 1, max: 16 }),
        'Values that later expressions find under `metadata`.',
      ),
    },
    { atLeastOneOf: [['set', 'add', 'remove', 'body', 'metadata']] },
  )
}
const clusterFields = {
  request: opt(clusterSide('request'), 'Changes to the request.'),
  response: opt(clusterSide('response'), 'Changes to the response.'),
}
const EITHER_SIDE = { atLeastOneOf: [['request', 'response']] }

export const transformations = definePolicy({
  name: 'transformations',
  doc: 'Rewrites headers and bodies by expressions.',
  attach: ['listener', 'route', 'backend', 'target'],
  schema,
  cluster: [
    {
      section: 'traffic',
      member: 'transformation',
      field: opt(variantsInCluster('transformation', clusterFields, EITHER_SIDE), 'Changes to requests and responses.'),
      convert: convertTransformation,
    },
    {
      section: 'backend',
      on: 'provider',
      member: 'transformation',
      field: opt(object('transformation', clusterFields, EITHER_SIDE), 'Changes to requests and responses.'),
      convert: convertTransformation,
    },
  ],
  compile(spec, { limits }) {
    const { conditional: entries } = spec
    return entries
      ? compileConditional(entries, 'changes', limits, entry => compileSides(entry, limits))
      : compileSides(spec, limits)
  },
})

function compileSides({ request, response }: ObjectOf<typeof fields>, limits: Limits): Hooks {
  const needs = bodiesFor([...expressionsOf(request), ...headExpressionsOf(response)], limits)
  const answering = response ? compileResponse(response, limits) : {}
  return { ...(request ? compileRequest(request, limits) : {}), ...answering, ...needs }
}

function headExpressionsOf(spec: Side | undefined): (Expression | undefined)[] {
  if (!spec) return []
  return [spec.replace, ...[spec.metadata, spec.add, spec.set].flatMap(each => Object.values(each ?? {}))]
}

function expressionsOf(spec: Side | undefined): (Expression | undefined)[] {
  return [...headExpressionsOf(spec), spec?.body]
}

function compileRequest(spec: Side, { paths }: Limits): Hooks {
  const { body } = spec
  const changeHead = compileHead(spec, name => setRequestPseudo(name, paths))
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

/** They describe the original body. */
function dropBodyHeaders(headers: HeaderList): void {
  headers.delete('content-length')
  headers.delete('content-encoding')
}

/** Discards the body, buffering it only for an expression that reads it. */
function replaceBody(x: Exchange, body: Expression, { maxBuffer }: Limits): BodyHook {
  const chunks: Buffer[] = []
  let size = 0
  return {
    chunk(data) {
      size += data.length
      if (!body.readsResponseBody) return undefined
      if (size <= maxBuffer) keepChunk(chunks, data)
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

type PseudoSetter = (name: string) => Assign

/** Metadata first, so that headers can refer to it; then replace, add, set, remove. */
function compileHead(spec: Side, pseudo: PseudoSetter): (x: Exchange, headers: HeaderList) => void {
  const metadata = Object.entries(spec.metadata ?? {})
  const { replace } = spec
  const add = Object.entries(spec.add ?? {}).map(([name, value]) => compileField(name, value, pseudo, true))
  const set = Object.entries(spec.set ?? {}).map(([name, value]) => compileField(name, value, pseudo, false))
  const remove = (spec.remove ?? []).map(name => name.toLowerCase()).filter(name => name !== 'host')
  return (x, headers) => {
    for (const [name, expression] of metadata) {
      // Rules may read it later and must not take a failure for an absent value.
      const outcome = expression.decide(x)
      if (outcome.ok) x.metadata[name] = outcome.value
      else if (outcome.kind !== 'absent') x.metadata[name] = new FailedValue()
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
  if (name.startsWith(':') || (name.toLowerCase() === 'host' && pseudo !== setResponsePseudo)) {
    const assign = pseudo(name)
    return x => {
      const outcome = expression.evaluate(x)
      if (outcome.ok) assign(x, outcome.value)
    }
  }
  return (x, headers) => {
    const outcome = evaluateHeader(name, expression, x)
    const text = outcome.ok ? asText(outcome.value) : undefined
    const value = text === undefined ? undefined : toFieldValue(text)
    if (value === undefined) headers.delete(name)
    else if (append) headers.append(name, value)
    else headers.set(name, value)
  }
}

/** Anything but a map leaves the headers unchanged; invalid entries are skipped. */
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

function setResponsePseudo(): Assign {
  return (x, value) => {
    const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value
    if (typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599 && x.response) {
      x.response.status = status
    }
  }
}

function convertTransformation(part: Fields): Policies | undefined {
  return variants(part, ({ request, response }) =>
    defined({ request: convertSide(asFields(request)), response: convertSide(asFields(response)) }),
  )
}

function convertSide(part: Fields | undefined): Policies | undefined {
  if (!part) return undefined
  return defined({
    set: byName(part.set),
    add: byName(part.add),
    remove: strings(part.remove),
    body: part.body,
    metadata: copied(part.metadata),
  })
}

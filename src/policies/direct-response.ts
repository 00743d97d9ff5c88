// Responds without calling a backend (specification, Traffic policy building blocks, DirectResponse).

import type { Expression } from '../cel/expression.ts'
import { GatewayError } from '../http/errors.ts'
import type { Exchange, Reply } from '../http/exchange.ts'
import { isFieldName, toFieldValue } from '../http/field-value.ts'
import { cel, integer, list, type ObjectOf, object, opt, req, string } from '../schema/builder.ts'
import { plainHeaderName } from '../schema/resource-scalars.ts'
import { conditional as variantsInCluster } from '../schema/resource-variants.ts'
import { statusCode } from '../schema/scalars.ts'
import { byName, defined, variants } from './parts/cluster-form.ts'
import { compileConditional, conditional, fallbackComesLast } from './parts/conditional.ts'
import { credentialExpression, evaluateHeader, headerExpressions } from './parts/header-expressions.ts'
import { bodiesFor, toBody } from './parts/request-body.ts'
import { definePolicy, type Hooks, type Limits } from './policy.ts'

const status = integer(200, 599)
const content = {
  body: opt(string({ min: 1, max: 4096 }), 'The body, as text.'),
  bodyExpression: opt(cel('request', 'body'), 'The body: text and bytes unchanged, other values as JSON.'),
  headers: opt(
    headerExpressions('request', 'string', {
      min: 1,
      max: 16,
      keys: name => (isFieldName(name) ? undefined : { message: `\`${name}\` is not a header name` }),
    }),
    'Headers; one whose expression fails is left out.',
  ),
}
const fields = { status: req(status, 'Status of the reply.'), ...content }

const schema = object(
  'directResponse',
  {
    status: opt(status, 'Status of the reply.'),
    ...content,
    conditional: conditional('directResponse entry', fields, { atMostOneOf: [['body', 'bodyExpression']] }),
  },
  {
    exactlyOneOf: [['status', 'conditional']],
    atMostOneOf: [
      ['body', 'bodyExpression', 'conditional'],
      ['headers', 'conditional'],
    ],
    check: fallbackComesLast,
  },
)

const clusterHeader = object(
  'response header',
  {
    name: req(plainHeaderName, 'The name of the header field.'),
    value: req(cel('request', 'any'), 'Its value.'),
  },
  { secretField: credentialExpression },
)
const inCluster = variantsInCluster(
  'direct response',
  {
    status: req(statusCode(), 'The status.'),
    body: opt(string({ min: 1, max: 4096 }), 'The body.'),
    bodyExpression: opt(cel('request', 'any'), 'The body: text and bytes unchanged, other values as JSON.'),
    headers: opt(list(clusterHeader, { min: 1, max: 16, unique: ['name'] }), 'Header fields.'),
  },
  { atMostOneOf: [['body', 'bodyExpression']] },
)

export const directResponse = definePolicy({
  name: 'directResponse',
  doc: 'Responds without calling a backend.',
  spec: 'Traffic policy building blocks',
  attach: ['route'],
  schema,
  cluster: [
    {
      section: 'traffic',
      member: 'directResponse',
      field: opt(inCluster, 'Responds without calling a backend.'),
      convert: part =>
        variants(part, ({ status, body, bodyExpression, headers }) =>
          defined({ status, body, bodyExpression, headers: byName(headers) }),
        ),
    },
  ],
  compile(spec, { limits }) {
    const { conditional: entries } = spec
    if (entries) return compileConditional(entries, 'guards', limits, entry => compileResponse(entry, limits))
    return compileResponse(spec as ObjectOf<typeof fields>, limits)
  },
})

function compileResponse(spec: ObjectOf<typeof fields>, limits: Limits): Hooks {
  const headers = Object.entries(spec.headers ?? {})
  const { status, bodyExpression } = spec
  const needs = bodiesFor([bodyExpression, ...headers.map(([, value]) => value)], limits)
  if (headers.length === 0 && bodyExpression === undefined) {
    const reply: Reply = { status, headers: [], body: spec.body, reason: 'DirectResponse' }
    function fixedResponse(): Reply {
      return reply
    }
    return { request: fixedResponse }
  }
  function computedResponse(x: Exchange): Reply {
    const body = bodyExpression === undefined ? spec.body : evaluateBody(bodyExpression, x)
    return { status, headers: evaluateHeaders(headers, x), body, reason: 'DirectResponse' }
  }
  return { request: computedResponse, ...needs }
}

function evaluateBody(expression: Expression, x: Exchange): Buffer {
  const outcome = expression.evaluate(x)
  if (outcome.ok) return toBody(outcome.value)
  throw new GatewayError('filterFailed', { detail: `the expression of the body failed: ${outcome.error}` })
}

function evaluateHeaders(headers: readonly (readonly [string, Expression])[], x: Exchange): string[] {
  const out: string[] = []
  for (const [name, expression] of headers) {
    const outcome = evaluateHeader(name, expression, x)
    const value = outcome.ok ? toFieldValue(outcome.value as string) : undefined
    if (value !== undefined) out.push(name, value)
  }
  return out
}

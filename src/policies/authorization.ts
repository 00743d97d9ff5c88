// Decides by expressions who may pass; the rules of all levels count together, so a narrow level never lifts a wide deny.
import type { Expression } from '../cel/expression.ts'
import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import { cel, list, object, opt, parsed, req, shapes } from '../schema/builder.ts'
import { definePolicy } from './policy.ts'
import { bodiesFor } from './request-body.ts'

type RuleKind = 'allow' | 'deny' | 'require'
interface Rule {
  readonly kind: RuleKind
  readonly when: Expression
}

const condition = cel('request', 'bool')
const NEVER: Expression = {
  text: 'false',
  scope: 'request',
  result: 'bool',
  roots: new Set(),
  readsRequestBody: false,
  readsResponseBody: false,
  evaluate: () => ({ ok: true, value: false }),
}

const rule = parsed(
  shapes({
    string: condition,
    object: object(
      'authorization rule',
      {
        allow: opt(condition, 'Lets the request pass when true.'),
        deny: opt(condition, 'Refuses the request when true.'),
        require: opt(condition, 'Refuses the request unless true.'),
      },
      { exactlyOneOf: [['allow', 'deny', 'require']] },
    ),
  }),
  'an expression, or one of `allow`, `deny` and `require` with an expression',
  (value): { readonly value: Rule } => {
    if ('evaluate' in value) return { value: { kind: 'allow', when: value } }
    const kind: RuleKind = value.deny ? 'deny' : value.require ? 'require' : 'allow'
    return { value: { kind, when: value[kind] as Expression } }
  },
  { kind: 'deny', when: NEVER },
)

const schema = object('authorization', {
  rules: req(list(rule), 'An expression, or one of `allow`, `deny` and `require` with an expression.'),
})

export const authorization = definePolicy({
  name: 'authorization',
  doc: 'Decides by expressions who may pass. The rules of all levels count together.',
  attach: ['listener', 'route', 'backend'],
  schema,
  merge: (wide, narrow) => ({ rules: [...wide.rules, ...narrow.rules] }),
  compile({ rules }) {
    const of = (kind: RuleKind) => rules.filter(each => each.kind === kind).map(each => each.when)
    const deny = of('deny')
    const require = of('require')
    const allow = of('allow')
    function authorize(x: Exchange): undefined {
      if (deny.some(when => holds(when, x)) || !require.every(when => holds(when, x))) {
        throw new GatewayError('authorization')
      }
      if (allow.length > 0 && !allow.some(when => holds(when, x))) throw new GatewayError('authorization')
    }
    return { request: authorize, ...bodiesFor(rules.map(each => each.when)) }
  },
})

/** A rule that fails is not true: a failing `deny` does not deny, a failing `require` refuses. */
function holds(when: Expression, x: Exchange): boolean {
  const outcome = when.evaluate(x)
  return outcome.ok && outcome.value === true
}

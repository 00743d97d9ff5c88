import type { Expression, Outcome } from '../../cel/expression.ts'
import type { Exchange } from '../../http/exchange.ts'
import {
  type CelScope,
  cel,
  def,
  type ListOptions,
  list,
  object,
  oneOf,
  opt,
  parsed,
  req,
  type Schema,
  shapes,
} from '../../schema/builder.ts'
import { asFields, asText, type Fields } from '../../schema/untyped.ts'
import type { TraceScope } from '../../trace/trace-event.ts'
import { type Policies, strings } from './cluster-form.ts'

type RuleKind = 'allow' | 'deny' | 'require'
export interface AccessRule {
  readonly kind: RuleKind
  readonly when: Expression
}

const NEVER: Expression = {
  text: 'false',
  scope: 'request',
  result: 'bool',
  roots: new Set(),
  readsRequestBody: false,
  readsResponseBody: false,
  evaluate: () => ({ ok: true, value: false }),
  decide: () => ({ ok: true, value: false }),
}

/** Rules as configured; `subject`: what they admit: `request`, `connection`, `item`. */
export function accessRules(scope: CelScope, subject: string, o: ListOptions = {}): Schema<readonly AccessRule[]> {
  const condition = cel(scope, 'bool')
  return list(
    parsed(
      shapes({
        string: condition,
        object: object(
          'authorization rule',
          {
            allow: opt(condition, `Lets the ${subject} pass when true.`),
            deny: opt(condition, `Refuses the ${subject} when true.`),
            require: opt(condition, `Refuses the ${subject} unless true.`),
          },
          { exactlyOneOf: [['allow', 'deny', 'require']] },
        ),
      }),
      'an expression, or one of `allow`, `deny` and `require` with an expression',
      (value): { readonly value: AccessRule } => {
        if ('evaluate' in value) return { value: { kind: 'allow', when: value } }
        const { allow, deny, require } = value
        const kind: RuleKind = deny ? 'deny' : require ? 'require' : 'allow'
        return { value: { kind, when: (deny ?? require ?? allow) as Expression } }
      },
      { kind: 'deny', when: NEVER },
    ),
    o,
  )
}

/** Rules as written in resources; `scope`: where the expressions are evaluated. */
export function accessRulesInCluster(scope: CelScope) {
  return object('authorization', {
    action: def(oneOf(['Allow', 'Deny', 'Require']), 'Allow', 'What a true expression means.'),
    policy: req(
      object('authorization policy', {
        matchExpressions: req(
          list(cel(scope, 'bool'), { min: 1, max: 256 }),
          'The expressions: one of them for Allow and Deny, all of them for Require.',
        ),
      }),
      'When the action applies.',
    ),
  })
}

export function convertAccessRules(part: Fields): Policies {
  const action = (asText(part.action) ?? 'Allow').toLowerCase()
  const expressions = strings(asFields(part.policy)?.matchExpressions) ?? []
  return { rules: expressions.map(expression => ({ [action]: expression })) }
}

/** Variables for expressions besides the exchange. */
type Extra = Readonly<Record<string, unknown>>

/** The decision about a request or a connection; traced if watched. */
export function accessDecision(rules: readonly AccessRule[]): (x: Exchange) => boolean {
  const decide = decisionBy(rules)
  return x => (x.trace ? tracedDecision(rules, x, x.trace) : decide(x))
}

/** True if no `deny` matches, every `require` does, and at least one `allow` if there are any. */
export function decisionBy(rules: readonly AccessRule[]): (x: Exchange, extra?: Extra) => boolean {
  const of = (kind: RuleKind) => rules.filter(each => each.kind === kind).map(each => each.when)
  const deny = of('deny')
  const require = of('require')
  const allow = of('allow')
  return (x, extra) => {
    if (deny.some(when => refuses(when.decide(x, extra)))) return false
    if (!require.every(when => holds(when.decide(x, extra)))) return false
    return allow.length === 0 || allow.some(when => holds(when.decide(x, extra)))
  }
}

/** The same decision with every rule evaluated, so that a trace shows the outcome of each. */
function tracedDecision(rules: readonly AccessRule[], x: Exchange, trace: TraceScope): boolean {
  const judged = judge(rules, x)
  const of = (kind: RuleKind) => judged.filter(({ mode }) => mode === kind)
  const allow = of('allow')
  const passes =
    !of('deny').some(({ matched }) => matched) &&
    of('require').every(({ matched }) => matched) &&
    (allow.length === 0 || allow.some(({ matched }) => matched))
  trace.emit({ type: 'authorization', result: passes ? 'allow' : 'deny', rules: judged })
  return passes
}

/** For a rejected request: the rule that rejects it; undefined if no `allow` matches. */
export function refusingRule(rules: readonly AccessRule[], x: Exchange): string | undefined {
  return judge(rules, x).find(({ mode, matched }) => (mode === 'deny' ? matched : mode === 'require' && !matched))?.rule
}

/** The outcome of each rule; `error`: why it could not be evaluated, unless what it refers to is absent. */
export function judge(rules: readonly AccessRule[], x: Exchange, extra?: Extra) {
  return rules.map(({ kind, when }) => {
    const outcome = when.decide(x, extra)
    const matched = kind === 'deny' ? refuses(outcome) : holds(outcome)
    return {
      rule: when.text,
      mode: kind,
      matched,
      ...(outcome.ok || outcome.kind === 'absent' ? {} : { error: outcome.error }),
    }
  })
}

/** A rule that fails does not match: an `allow` admits nothing, a `require` rejects. */
function holds(outcome: Outcome): boolean {
  return outcome.ok && outcome.value === true
}

/**
 * A failing `deny` rejects, since clients can make it fail: with more elements than the limit, a body too large to
 * buffer, text that is not JSON, or another type. It does not apply only if what it refers to is absent.
 */
function refuses(outcome: Outcome): boolean {
  return outcome.ok ? outcome.value === true : outcome.kind !== 'absent'
}

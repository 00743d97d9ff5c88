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

/** Rules as a file writes them; `subject` is what passes or not: `request`, `connection`, `item`. */
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

/** Rules as resources write them; `scope`: where the expressions stand. */
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

/** What expressions read beside the exchange. */
type Extra = Readonly<Record<string, unknown>>

/** The decision about a request or a connection; a trace tells it. */
export function accessDecision(rules: readonly AccessRule[]): (x: Exchange) => boolean {
  const decide = decisionBy(rules)
  return x => (x.trace ? tracedDecision(rules, x, x.trace) : decide(x))
}

/** No `deny` holds, every `require` does, and so does one `allow` where there are any. */
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

/** The same decision with every rule evaluated, so that a person sees what each of them says. */
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

/** Of a request that is refused: the rule that does so, undefined where no `allow` lets it pass. */
export function refusingRule(rules: readonly AccessRule[], x: Exchange): string | undefined {
  return judge(rules, x).find(({ mode, matched }) => (mode === 'deny' ? matched : mode === 'require' && !matched))?.rule
}

/** What each rule says; `error`: why it could not be evaluated, unless what it asks for is not there. */
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

/** A rule that fails does not hold: an `allow` does not let anybody in, a `require` refuses. */
function holds(outcome: Outcome): boolean {
  return outcome.ok && outcome.value === true
}

/**
 * A `deny` that fails refuses, for clients can make it fail: with more elements than it may look at, a body too large to
 * be read, text that is no JSON, another type. Only where what it asks for is not there it does not apply.
 */
function refuses(outcome: Outcome): boolean {
  return outcome.ok ? outcome.value === true : outcome.kind !== 'absent'
}

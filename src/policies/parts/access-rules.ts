import type { Expression } from '../../cel/expression.ts'
import type { Exchange } from '../../http/exchange.ts'
import type { TraceScope } from '../../http/trace-event.ts'
import {
  type CelScope,
  cel,
  type ListOptions,
  list,
  object,
  opt,
  parsed,
  type Schema,
  shapes,
} from '../../schema/builder.ts'

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
    if (deny.some(when => holds(when, x, extra)) || !require.every(when => holds(when, x, extra))) return false
    return allow.length === 0 || allow.some(when => holds(when, x, extra))
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

/** What each rule says. */
export function judge(rules: readonly AccessRule[], x: Exchange, extra?: Extra) {
  return rules.map(({ kind, when }) => ({ rule: when.text, mode: kind, matched: holds(when, x, extra) }))
}

/** A rule that fails is not true: a failing `deny` does not deny, a failing `require` refuses. */
function holds(when: Expression, x: Exchange, extra?: Extra): boolean {
  const outcome = when.evaluate(x, extra)
  return outcome.ok && outcome.value === true
}

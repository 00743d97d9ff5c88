import type { Expression } from '../cel/expression.ts'
import type { Origin } from '../diagnostics/diagnostic.ts'
import type { Exchange, McpItem } from '../http/exchange.ts'
import { cel, type Infer, list, object, opt, req, shapes } from '../schema/builder.ts'
import { definePolicy } from './policy.ts'

const expression = cel('mcp', 'bool')

const rule = shapes({
  string: expression,
  object: object(
    'MCP authorization rule',
    {
      allow: opt(expression, 'Allows what it is true for.'),
      deny: opt(expression, 'Refuses what it is true for, whatever else allows it.'),
      require: opt(expression, 'Must be true for whatever is allowed.'),
    },
    { exactlyOneOf: [['allow', 'deny', 'require']] },
  ),
})

const rules = list(rule, { isolate: true })
const schema = shapes({
  list: rules,
  object: object('MCP authorization', {
    rules: req(rules, 'CEL expressions; a plain one is an `allow` rule.'),
  }),
})
type Spec = Infer<typeof schema>
type Rule = Infer<typeof rule>

export const mcpAuthorization = definePolicy({
  name: 'mcpAuthorization',
  doc: 'Decides which tools, prompts and resources of MCP targets a client sees and uses.',
  spec: 'Tool authorization (MCP)',
  attach: ['route', 'backend'],
  perBackend: true,
  schema,
  merge: (wide: Spec, narrow: Spec): Spec => ({ rules: [...rulesOf(wide), ...rulesOf(narrow)] }),
  compile(spec, { origin }) {
    const all = rulesOf(spec)
    const allow = all.flatMap(each => expressionOf(each, 'allow'))
    const deny = all.flatMap(each => expressionOf(each, 'deny'))
    const require = all.flatMap(each => expressionOf(each, 'require'))
    return {
      mcpAuthorization: {
        allows(x, item) {
          x.trace?.enter([origin])
          const extra = { mcp: { [item.kind]: { name: item.name, target: item.target } } }
          x.trace?.enter([origin])
          const holds = (e: Expression) => isTrue(e, x, extra)
          const refused = deny.some(holds) || !require.every(holds)
          const allowed = !refused && (allow.length === 0 || allow.some(holds))
          if (x.trace && !allowed) traceRefusal(all, x, item, origin)
          x.trace?.leave()
          return allowed
        },
      },
    }
  },
})

/** Why an item is hidden: what each rule says of it. */
function traceRefusal(all: readonly Rule[], x: Exchange, { kind, name, target }: McpItem, origin: Origin): void {
  const { trace } = x
  if (!trace) return
  x.trace = undefined
  const extra = { mcp: { [kind]: { name, target } } }
  const rules = MODES.flatMap(mode =>
    all.flatMap(rule => expressionOf(rule, mode)).map(e => ({ rule: e.text, mode, matched: isTrue(e, x, extra) })),
  )
  x.trace = trace
  trace.emit(
    { type: 'authorization', result: 'deny', subject: `${kind} ${name} of ${target}`, rules },
    { origins: [origin] },
  )
}

const MODES = ['deny', 'require', 'allow'] as const

function rulesOf(spec: Spec): readonly Rule[] {
  return 'rules' in spec ? spec.rules : spec
}

function expressionOf(each: Rule, mode: 'allow' | 'deny' | 'require'): readonly Expression[] {
  if ('text' in each) return mode === 'allow' ? [each] : []
  const found = each[mode]
  return found === undefined ? [] : [found]
}

/** An expression that fails is not true: it neither allows nor denies, and a requirement is not met. */
function isTrue(
  e: Expression,
  x: Exchange,
  extra: { readonly mcp: Partial<Record<McpItem['kind'], object>> },
): boolean {
  const outcome = e.evaluate(x, extra)
  return outcome.ok && outcome.value === true
}

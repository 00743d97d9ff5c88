import type { Origin } from '../diagnostics/diagnostic.ts'
import type { Exchange, McpItem } from '../http/exchange.ts'
import { type Infer, object, opt, req, shapes } from '../schema/builder.ts'
import {
  type AccessRule,
  accessRules,
  accessRulesInCluster,
  convertAccessRules,
  decisionBy,
  judge,
} from './parts/access-rules.ts'
import { definePolicy } from './policy.ts'

const rules = accessRules('mcp', 'item', { isolate: true })
const schema = shapes({
  list: rules,
  object: object('MCP authorization', {
    rules: req(rules, 'CEL expressions; a plain one is an `allow` rule.'),
  }),
})
type Spec = Infer<typeof schema>

export const mcpAuthorization = definePolicy({
  name: 'mcpAuthorization',
  doc: 'Decides which tools, prompts and resources of MCP targets a client can see and use.',
  spec: 'Tool authorization (MCP)',
  cluster: [
    {
      section: 'mcp',
      member: 'authorization',
      field: opt(accessRulesInCluster('mcp'), 'Which tools, prompts and resources a client may see and use.'),
      convert: convertAccessRules,
    },
  ],
  guards: true,
  attach: ['route', 'backend'],
  perBackend: true,
  schema,
  perItem: true,
  accumulates: true,
  merge: (wide: Spec, narrow: Spec): Spec => ({ rules: [...rulesOf(wide), ...rulesOf(narrow)] }),
  compile(spec, { origin }) {
    const all = rulesOf(spec)
    const decide = decisionBy(all)
    return {
      mcpAuthorization: {
        allows(x, item) {
          x.trace?.enter([origin])
          const extra = variablesOf(item)
          const allowed = decide(x, extra)
          if (!allowed) traceRefusal(all, x, item, origin)
          x.trace?.leave()
          return allowed
        },
      },
    }
  },
})

/** Records why an item is hidden: the outcome of each rule. */
function traceRefusal(all: readonly AccessRule[], x: Exchange, item: McpItem, origin: Origin): void {
  const { trace } = x
  if (!trace) return
  // Their expressions were already traced when they were evaluated.
  x.trace = undefined
  const judged = judge(all, x, variablesOf(item))
  x.trace = trace
  const rules = MODES.flatMap(mode => judged.filter(rule => rule.mode === mode))
  trace.emit(
    { type: 'authorization', result: 'deny', subject: `${item.kind} ${item.name} of ${item.target}`, rules },
    { origins: [origin] },
  )
}

const MODES = ['deny', 'require', 'allow'] as const

function variablesOf({ kind, name, target, arguments: given }: McpItem) {
  return { mcp: { [kind]: given === undefined ? { name, target } : { name, target, arguments: given } } }
}

function rulesOf(spec: Spec): readonly AccessRule[] {
  return 'rules' in spec ? spec.rules : spec
}

import type { Lint, Policies } from '../lint.ts'
import { policiesWithoutModel } from '../sites.ts'

interface Limit {
  readonly maxTokens?: number
  readonly tokensPerFill?: number
  readonly fillInterval?: number
  readonly type?: 'requests' | 'tokens'
  readonly tokens?: number
}

/** GW519: a limit that admits nothing, or nothing more once it is used up. */
export const emptyBucket: Lint = file => {
  for (const { policies } of file.sites) {
    for (const limit of limitsOf(policies.localRateLimit)) {
      if (limit.fillInterval === undefined) continue
      const never = !limit.maxTokens
      if (!never && limit.tokensPerFill) continue
      const field = never ? 'maxTokens' : 'tokensPerFill'
      const written = limit[field] !== undefined
      file.report({
        code: 'GW519',
        message: never ? 'a bucket of size 0 lets no request pass' : 'the bucket is never filled again',
        path: written ? [...file.pathOf(limit), field] : file.pathOf(limit),
        at: 'value',
        label: written ? 'must be 1 or more' : `\`${field}\` is not set, which means 0`,
        help: `set \`${field}\` to 1 or more`,
      })
    }
  }
}

/** GW520: a token limit on a route without a model. */
export const tokensWithoutModel: Lint = file => {
  const places = [...file.sites.map(site => site.policies), file.config.mcp?.policies]
  if (!places.some(policies => limitsOf(policies?.localRateLimit).some(countsTokens))) return
  for (const policies of [...policiesWithoutModel(file.config), file.config.mcp?.policies]) {
    for (const limit of limitsOf(policies?.localRateLimit)) {
      if (!countsTokens(limit)) continue
      file.report({
        code: 'GW520',
        message: 'the limit counts LLM tokens, and this route has no LLM backend, so it never takes effect',
        path: [...file.pathOf(limit), limit.type === undefined ? 'tokens' : 'type'],
        at: 'key',
        label: 'nothing is counted',
        help: 'count requests, or move the limit to the route of the LLM',
      })
    }
  }
}

function countsTokens({ type, tokens }: Limit): boolean {
  return type === 'tokens' || tokens !== undefined
}

function limitsOf(spec: Policies['localRateLimit']): readonly Limit[] {
  if (spec === undefined) return []
  return 'conditional' in spec ? (spec.conditional ?? []) : (spec as readonly Limit[])
}

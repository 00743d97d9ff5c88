// Authorization by expressions. The rules of all levels apply together, so a narrow level never lifts a wide deny.

import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import { object, opt, req } from '../schema/builder.ts'
import {
  accessDecision,
  accessRules,
  accessRulesInCluster,
  convertAccessRules,
  refusingRule,
} from './parts/access-rules.ts'
import { bodiesFor } from './parts/request-body.ts'
import { definePolicy } from './policy.ts'

const schema = object('authorization', {
  rules: req(
    accessRules('request', 'request'),
    'An expression, or one of `allow`, `deny` and `require` with an expression.',
  ),
})

export const authorization = definePolicy({
  name: 'authorization',
  doc: 'Decides by expressions who may pass. The rules of all levels count together.',
  attach: ['listener', 'route', 'backend'],
  schema,
  cluster: [
    {
      section: 'traffic',
      member: 'authorization',
      field: opt(accessRulesInCluster('request'), 'Decides by expressions who may pass.'),
      convert: convertAccessRules,
    },
  ],
  asksFor: 'anything',
  guards: true,
  accumulates: true,
  merge: (wide, narrow) => ({ rules: [...wide.rules, ...narrow.rules] }),
  compile({ rules }, { limits }) {
    const passes = accessDecision(rules)
    function authorize(x: Exchange): undefined {
      if (passes(x)) return
      x.refusedBy = refusingRule(rules, x)
      throw new GatewayError('authorization')
    }
    return {
      request: authorize,
      ...bodiesFor(
        rules.map(each => each.when),
        limits,
      ),
    }
  },
})

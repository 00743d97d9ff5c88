import { object, opt, req } from '../../schema/builder.ts'
import { accessDecision, accessRules, accessRulesInCluster, convertAccessRules } from '../parts/access-rules.ts'
import { definePolicy } from '../policy.ts'
import { requestless } from './requestless.ts'

export const networkAuthorization = definePolicy({
  name: 'networkAuthorization',
  doc: 'Decides by expressions over `source` who may connect; other connections are closed without a response.',
  cluster: [
    {
      section: 'frontend',
      member: 'networkAuthorization',
      field: opt(accessRulesInCluster('connection'), 'Decides by expressions which connections are accepted.'),
      convert: convertAccessRules,
    },
  ],
  accumulates: true,
  guards: true,
  attach: ['frontend'],
  schema: object('network authorization', {
    rules: req(
      accessRules('connection', 'connection'),
      'An expression, or one of `allow`, `deny` and `require` with an expression.',
    ),
  }),
  compile({ rules }) {
    const passes = accessDecision(rules)
    return { connection: (facts, trace) => passes(requestless(facts, trace)) }
  },
})

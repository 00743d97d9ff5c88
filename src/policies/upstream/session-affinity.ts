import { cel, object, req } from '../../schema/builder.ts'
import { bodiesFor } from '../parts/request-body.ts'
import { definePolicy } from '../policy.ts'

export const sessionAffinity = definePolicy({
  name: 'sessionAffinity',
  doc: 'Requests with the same value go to the same endpoint.',
  attach: ['backend'],
  perBackend: true,
  schema: object('session affinity', { source: req(cel('request', 'string'), 'Expression for the value.') }),
  compile: ({ source }, { limits }) => ({ upstream: { affinity: source }, ...bodiesFor([source], limits) }),
})

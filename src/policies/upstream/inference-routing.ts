import { def, object, oneOf, req } from '../../schema/builder.ts'
import { definePolicy } from '../policy.ts'
import { TARGET_KINDS, targetFields } from './policy-target.ts'

export const inferenceRouting = definePolicy({
  name: 'inferenceRouting',
  doc: 'An endpoint picker chooses the endpoint of each request.',
  attach: ['backend'],
  perBackend: true,
  unserved: 'Endpoint pickers are not asked yet: requests would go to any endpoint.',
  schema: object('inference routing', {
    endpointPicker: req(
      object('endpoint picker', targetFields, { exactlyOneOf: [TARGET_KINDS] }),
      'The endpoint picker service.',
    ),
    destinationMode: def(
      oneOf(['validated', 'passthrough']),
      'validated',
      '`validated`: only endpoints of the service; `passthrough`: whatever the picker names.',
    ),
  }),
  compile: () => ({}),
})

import { number, object, req } from '../../schema/builder.ts'
import { definePolicy } from '../policy.ts'
import { TARGET_KINDS, targetFields } from '../upstream/policy-target.ts'

export const requestMirror = definePolicy({
  name: 'requestMirror',
  doc: 'Sends a copy of some requests elsewhere and ignores the answer.',
  attach: ['route'],
  unserved: 'No copies are sent yet.',
  schema: object('request mirror', {
    backend: req(object('mirror target', targetFields, { exactlyOneOf: [TARGET_KINDS] }), 'Where copies go.'),
    percentage: req(number(0, 1), 'Share of the requests, 0 to 1.'),
  }),
  compile: () => ({}),
})

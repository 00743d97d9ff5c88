import { cel, list, object, opt, req, shapes } from '../../schema/builder.ts'
import { definePolicy } from '../policy.ts'

const condition = cel('connection', 'bool')

export const networkAuthorization = definePolicy({
  name: 'networkAuthorization',
  doc: 'Decides by expressions who may connect.',
  attach: ['frontend'],
  unserved:
    'Connections are not checked yet: every client may connect. `authorization` with `source.address` checks each request.',
  schema: object('network authorization', {
    rules: req(
      list(
        shapes({
          string: condition,
          object: object(
            'authorization rule',
            {
              allow: opt(condition, 'Lets the connection pass when true.'),
              deny: opt(condition, 'Refuses the connection when true.'),
              require: opt(condition, 'Refuses the connection unless true.'),
            },
            { exactlyOneOf: [['allow', 'deny', 'require']] },
          ),
        }),
      ),
      'An expression, or one of `allow`, `deny` and `require` with an expression.',
    ),
  }),
  compile: () => ({}),
})

import { attribute } from '../../../policies/frontend/cluster/exports.ts'
import { list, object, opt, req } from '../../../schema/builder.ts'
import { fieldsOf } from './members.ts'

const metrics = object('metrics', {
  attributes: req(
    object(
      'metric labels',
      { add: opt(list(attribute, { min: 1, max: 16, unique: ['name'] }), 'Labels to add.') },
      { atLeastOneOf: [['add']] },
    ),
    'Changes to the labels.',
  ),
})

const fields = {
  ...fieldsOf('frontend'),
  metrics: opt(metrics, 'Metrics of requests.'),
}
/** Handling of incoming connections. */
export const frontend = object('frontend', fields, { atLeastOneOf: [Object.keys(fields)] })
/** The members that can be set per listener of a Gateway. */
export const PER_LISTENER = ['accessLog', 'tracing', 'metrics']
export const FOR_WHOLE_GATEWAY = Object.keys(fields).filter(name => !PER_LISTENER.includes(name))

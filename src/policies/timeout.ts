// How long a request and each upstream call may take. Data only: the engine keeps the deadlines.
import { object, opt } from '../schema/builder.ts'
import { duration } from '../schema/scalars.ts'
import { definePolicy } from './policy.ts'

const schema = object('timeout', {
  requestTimeout: opt(
    duration,
    'From the start of the request to the response headers, with delays and retries; 0s is no limit.',
  ),
  backendRequestTimeout: opt(duration, 'The same for each single call to a backend; 0s is no limit.'),
})

export const timeout = definePolicy({
  name: 'timeout',
  doc: 'How long a request and each upstream call may take.',
  attach: ['route'],
  schema,
  compile({ requestTimeout: request, backendRequestTimeout: backend }) {
    return { timeout: { ...(request ? { request } : {}), ...(backend ? { backend } : {}) } }
  },
})

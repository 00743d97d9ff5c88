// Deadlines of a request and of each upstream call. Data only: the engine enforces them.

import { object, opt } from '../schema/builder.ts'
import { resourceDuration } from '../schema/resource-scalars.ts'
import { duration } from '../schema/scalars.ts'
import { defined } from './parts/cluster-form.ts'
import { writtenTimes } from './parts/written-times.ts'
import { definePolicy } from './policy.ts'

const schema = object(
  'timeout',
  {
    requestTimeout: opt(
      duration,
      'From the start of the request to the response headers, with delays and retries; 0s means no limit.',
    ),
    backendRequestTimeout: opt(duration, 'The same for each single call to a backend; 0s means no limit.'),
  },
  { textMeans: 'requestTimeout' },
)

const inCluster = object(
  'timeouts',
  {
    request: opt(
      resourceDuration(1),
      'From the start of the request to the response headers, with delays and retries.',
    ),
  },
  { atLeastOneOf: [['request']] },
)

export const timeout = definePolicy({
  name: 'timeout',
  doc: 'How long a request and each upstream call may take.',
  attach: ['route'],
  schema,
  cluster: [
    {
      section: 'traffic',
      member: 'timeouts',
      field: opt(inCluster, 'How long a request may take.'),
      convert: part => defined({ requestTimeout: part.request }),
    },
  ],
  probe: spec => ({ delays: writtenTimes(spec, ['requestTimeout', 'backendRequestTimeout']) }),
  compile({ requestTimeout: request, backendRequestTimeout: backend }) {
    return { timeout: { ...(request ? { request } : {}), ...(backend ? { backend } : {}) } }
  },
})

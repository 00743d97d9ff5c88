// When an upstream call is made again. Data only: the engine makes the calls.
import { cel, def, integer, list, object, opt } from '../schema/builder.ts'
import { duration, statusCode } from '../schema/scalars.ts'
import { bodiesFor } from './parts/request-body.ts'
import { definePolicy } from './policy.ts'

const schema = object('retry', {
  attempts: def(integer(1, 255), 1, 'How many more calls may follow the first one.'),
  backoff: opt(duration, 'Pause between two calls.'),
  codes: def(list(statusCode(100, 599)), [], 'Response statuses that ask for another call.'),
  precondition: opt(cel('request', 'bool'), 'Retries only when this holds for the request.'),
  condition: opt(cel('response', 'bool'), 'Asks for another call when it holds for the response, whatever its status.'),
})

export const retry = definePolicy({
  name: 'retry',
  doc: 'Calls the backend again when a call fails.',
  attach: ['route'],
  schema,
  compile({ attempts, backoff = 0, codes, precondition, condition }, { limits }) {
    return {
      retry: {
        attempts,
        backoff,
        codes: new Set(codes),
        ...(precondition ? { precondition } : {}),
        ...(condition ? { condition } : {}),
      },
      ...bodiesFor([precondition, condition], limits),
    }
  },
})

// Reports to clients which policy rejected them (RFC 9457, Problem Details for HTTP APIs).

import type { BodyHook } from '../calls/step.ts'
import type { Exchange } from '../http/exchange.ts'
import { def, object, oneOf } from '../schema/builder.ts'
import { definePolicy } from './policy.ts'

const schema = object('refusal details', {
  form: def(
    oneOf(['header', 'problem']),
    'header',
    '`header`: `x-refused-by` and `x-trace-id`. `problem`: also a JSON body that has both, with the text of the refusal and of the rule.',
  ),
})

export const refusalDetails = definePolicy({
  name: 'refusalDetails',
  doc: 'Tells clients which policy refused their request, and the id to find it in traces. Unset: they are not told.',
  attach: ['listener', 'route'],
  schema,
  compile({ form }) {
    const problems = new WeakMap<Exchange, object>()
    function explain(x: Exchange): void {
      const { stoppedAt, response } = x
      if (stoppedAt === undefined || response === undefined) return
      if (response.status < 400 && !response.headers.has('grpc-status')) return
      const trace = x.span?.traceId ?? x.id
      response.headers.set('x-refused-by', stoppedAt.policy)
      response.headers.set('x-trace-id', trace)
      // Other bodies are prescribed by a protocol.
      if (form === 'header' || response.headers.get('content-type')?.startsWith('text/plain') !== true) return
      response.headers.set('content-type', 'application/problem+json')
      const { status } = response
      problems.set(x, { type: 'about:blank', status, policy: stoppedAt.policy, rule: x.refusedBy, trace })
    }
    /** Uses the response text: the logged error may contain names that clients must not see. */
    function inPlace(x: Exchange): BodyHook | undefined {
      const problem = problems.get(x)
      if (problem === undefined) return undefined
      const text: Buffer[] = []
      return {
        chunk(chunk) {
          text.push(Buffer.from(chunk))
          return undefined
        },
        end: () => Buffer.from(JSON.stringify({ ...problem, detail: Buffer.concat(text).toString('utf8') })),
      }
    }
    return { response: explain, ...(form === 'problem' ? { responseBody: inPlace } : {}) }
  },
})

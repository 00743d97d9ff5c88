import { bodyOf, type ConnectionFacts, Exchange, emptyHead } from '../../http/exchange.ts'
import type { TraceScope } from '../../http/trace-event.ts'
import { object, req } from '../../schema/builder.ts'
import { accessDecision, accessRules } from '../parts/access-rules.ts'
import { definePolicy } from '../policy.ts'

export const networkAuthorization = definePolicy({
  name: 'networkAuthorization',
  doc: 'Decides by expressions over `source` who may connect; all others are cut off without an answer.',
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

/** Expressions read an exchange; before the first request it holds the connection alone. */
function requestless(connection: ConnectionFacts, trace: TraceScope | undefined): Exchange {
  const x = new Exchange({
    id: String(connection.id),
    connection,
    startedAt: 0,
    startedMono: 0,
    httpVersion: '',
    request: emptyHead(),
    body: bodyOf(undefined),
  })
  x.trace = trace
  return x
}

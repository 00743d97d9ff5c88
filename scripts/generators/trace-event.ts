import { object, req, type Schema } from '../../src/schema/builder.ts'
import { emit, type JsonSchema } from '../../src/schema/emit.ts'
import { TRACE_EVENT, TRACE_MESSAGES } from '../../src/trace/trace-event-schema.ts'
import type { Generator } from './generator.ts'

/** schemas/trace-event.schema.json: the lines of `gwctl trace --raw`. */
export const traceEvent: Generator = {
  name: 'trace event',
  async outputs() {
    return new Map([['schemas/trace-event.schema.json', `${JSON.stringify(traceEventSchema(), null, 2)}\n`]])
  },
}

/** The builder tells variants apart by their keys; messages are told apart by `type`, so the choice is made here. */
function traceEventSchema(): JsonSchema {
  const declared: Readonly<Record<string, Schema<unknown>>> = TRACE_MESSAGES
  const kinds = Object.entries(declared).map(([type, schema]) => [type, req(schema, '')] as const)
  // One emission, so that what several kinds share is defined once.
  const all = emit(object('all', { event: req(TRACE_EVENT, ''), ...Object.fromEntries(kinds) }), { title: 'all' })
  const { event, ...messages } = all.properties as Record<string, JsonSchema & { properties: JsonSchema }>
  const { description: _, ...envelope } = event as JsonSchema & { properties: JsonSchema }
  const variants = Object.fromEntries(
    Object.entries(messages).map(([type, { description: _, ...rest }]) => [type, rest]),
  )
  const oneOf = Object.keys(variants).map(type => ({ $ref: `#/$defs/${type}` }))
  return {
    $schema: all.$schema,
    ...envelope,
    title: 'gwctl trace event',
    description: 'One line of `gwctl trace --raw`, and the data of one Server-Sent Event of /debug/trace.',
    properties: { ...(envelope.properties as JsonSchema), message: { description: 'What happened.', oneOf } },
    $defs: { ...(all.$defs as JsonSchema), ...variants },
  }
}

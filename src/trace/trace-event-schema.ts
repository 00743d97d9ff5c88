import {
  boolean,
  type Fields,
  integer,
  json,
  list,
  map,
  nothing,
  number,
  object,
  oneOf,
  opt,
  req,
  type Schema,
  shapes,
  string,
} from '../schema/builder.ts'
import type { HeadSnapshot, TraceEvent, TraceMessage, TraceMessageType } from './trace-event.ts'

/**
 * The schema of a trace event as consumers of the stream see it: `schemas/trace-event.schema.json` is generated from
 * it, and `gwctl trace` parses with it. Later versions may add fields, so consumers must ignore unknown ones.
 */
const grows = { open: true }
const count = integer(0)

const ORIGIN = object(
  'place in a configuration file',
  {
    file: req(string(), 'File as given to the gateway; the resource, if it follows a cluster.'),
    line: req(integer(0), 'Line, from 1; 0 for a resource.'),
    col: req(integer(0), 'Column in UTF-16 units, from 1; 0 for a resource.'),
  },
  grows,
)

// The builder has lists but no tuples; the bounds emulate one.
const PAIR = list(string(), { min: 2, max: 2 }) as Schema<readonly [string, string]>

const HEAD: Schema<HeadSnapshot> = object(
  'request or response head',
  {
    method: opt(string(), 'Method of a request.'),
    url: opt(string(), 'Absolute URL of a request.'),
    status: opt(integer(100, 999), 'Status of a response.'),
    headers: req(list(PAIR), 'Header fields in order; the values of credentials are `<redacted>`.'),
    jwt: opt(map(json), 'Claims of the token that a policy has accepted so far.'),
    apiKey: opt(map(json), 'Metadata of the API key that a policy has accepted so far.'),
    basicAuth: opt(
      object('user', { username: req(string(), 'Name.') }, grows),
      'User whose password a policy has accepted so far.',
    ),
  },
  grows,
)

const NOT_CHOSEN = object(
  'backend that was not chosen',
  { backend: req(string(), 'Name of the backend.'), reason: req(string(), 'Why not.') },
  grows,
)

/** One declaration per message kind, discriminated by `type`. */
export const TRACE_MESSAGES: { readonly [T in TraceMessageType]: Schema<Extract<TraceMessage, { type: T }>> } = {
  requestStarted: message('requestStarted', {
    method: req(string(), 'Method.'),
    url: req(string(), 'Absolute URL as requested by the client.'),
    source: req(string(), 'Address and port of the client.'),
    time: req(string(), 'When the request began, RFC 3339.'),
  }),
  snapshot: message('snapshot', {
    stage: req(string(), 'The step after which the head was captured.'),
    state: req(HEAD, 'The head at that point.'),
  }),
  listener: message('listener', {
    bind: req(string(), 'Key of the bind that accepted the connection.'),
    listener: req(shapes({ string: string(), null: nothing }), 'Name of the listener; null when none matched.'),
  }),
  route: message('route', {
    selected: req(shapes({ string: string(), null: nothing }), 'Name of the route; null when none matched.'),
    tried: req(
      list(
        object(
          'route that did not match',
          {
            route: req(string(), 'Name of the route.'),
            failed: req(string(), 'The condition that did not match.'),
            origin: opt(ORIGIN, 'Where the route is defined.'),
          },
          grows,
        ),
      ),
      'Routes that were not chosen, nearest misses first.',
    ),
    more: opt(integer(1), 'Number of further routes that were not chosen.'),
  }),
  policySelection: message('policySelection', {
    phase: req(string(), 'Level of the policies: listener, route or backend.'),
    policies: req(list(string()), 'Their names, in the order they run.'),
  }),
  policy: message('policy', {
    policy: req(string(), 'Name of the policy.'),
    phase: req(string(), 'The phase in which it ran.'),
    result: req(oneOf(['applied', 'skipped', 'replied', 'failed']), 'What it did.'),
    detail: opt(string(), 'Why, or what it changed.'),
  }),
  cel: message('cel', {
    expression: req(string(), 'The expression.'),
    result: opt(json, 'Its value.'),
    error: opt(string(), 'Why it has none.'),
  }),
  authorization: message('authorization', {
    result: req(oneOf(['allow', 'deny']), 'The decision.'),
    subject: opt(string(), 'What was decided on, if not the request: a tool of an MCP target.'),
    rules: req(
      list(
        object(
          'authorization rule',
          {
            rule: req(string(), 'The expression or the name of the rule.'),
            mode: req(string(), '`allow`, `deny` or `require`.'),
            matched: req(boolean, 'Whether it counts as true.'),
            error: opt(
              string(),
              'Why it could not be evaluated. A `deny` then counts as true, unless the value that it reads is absent.',
            ),
          },
          grows,
        ),
      ),
      'The rules that were evaluated, in order.',
    ),
  }),
  backend: message('backend', {
    backend: req(string(), 'Name of the chosen backend.'),
    kind: req(string(), 'Its kind: static, mcp, ai.'),
    reason: opt(string(), 'Why it was chosen among several.'),
    others: opt(list(NOT_CHOSEN), 'The candidates.'),
  }),
  callStart: message('callStart', {
    target: req(string(), 'Host and port to call.'),
    purpose: req(string(), 'Purpose of the call: the request itself, a mirror, a policy.'),
    reason: opt(string(), 'Why this endpoint is called, and why now.'),
  }),
  callEnd: message('callEnd', {
    target: req(string(), 'Host and port that were called.'),
    status: opt(integer(), 'Status of the response.'),
    error: opt(string(), 'Why there is no response.'),
  }),
  mcp: message('mcp', {
    method: req(string(), 'JSON-RPC method.'),
    target: opt(string(), 'MCP target that serves it.'),
    name: opt(string(), 'Tool, prompt or resource.'),
    detail: opt(string(), 'What happened.'),
  }),
  a2a: message('a2a', {
    method: req(string(), 'A2A method, as named by the client.'),
    task: opt(string(), 'Id of the task.'),
    state: opt(string(), 'State of the task as reported by the agent.'),
    error: opt(integer(), 'JSON-RPC error code.'),
  }),
  llm: message('llm', {
    provider: req(string(), 'Provider.'),
    model: req(string(), 'Requested model.'),
    streaming: req(boolean, 'Whether the response is streamed.'),
    inputTokens: opt(number(0), 'Input tokens.'),
    outputTokens: opt(number(0), 'Output tokens.'),
    cost: opt(number(0), 'Cost of the tokens in US dollars, if a catalog has prices.'),
    losses: opt(
      list(object('loss', { path: req(string(), 'Where it was.'), reason: req(string(), 'Why it was lost.') })),
      "What was lost in converting between the client's format and the provider's.",
    ),
  }),
  guard: message('guard', {
    guard: req(string(), 'Its kind, such as `webhook`.'),
    phase: req(oneOf(['request', 'response']), 'What it inspected.'),
    action: req(oneOf(['allow', 'mask', 'reject', 'audit', 'failOpen', 'fail']), 'What it did.'),
    would: opt(oneOf(['allow', 'mask', 'reject']), 'What it would have done if it were not set to record only.'),
    duration: req(count, 'Duration in microseconds.'),
    rules: opt(list(string()), 'Names of the rules that matched.'),
    reason: opt(string(), 'Reason given by the service.'),
    error: opt(string(), 'Why it could not decide.'),
  }),
  body: message('body', {
    stage: req(string(), 'The step after which the body was captured.'),
    bytes: req(count, 'Its total length.'),
    base64: req(string(), 'The first bytes.'),
    truncated: req(boolean, 'Whether the body is truncated.'),
  }),
  requestFinished: message('requestFinished', {
    status: req(
      shapes({ number: integer(), null: nothing }),
      'Status sent to the client; null if it disconnected before.',
    ),
    error: opt(string(), 'What went wrong.'),
    reason: opt(string(), 'Reason for the reply, as in the access log.'),
    bytes: req(count, 'Bytes of the response body.'),
  }),
  dropped: message('dropped', { count: req(integer(1), 'Events lost here because the reader was too slow.') }),
}

/** The envelope of a message, which is one of TRACE_MESSAGES. */
export const TRACE_EVENT: Schema<Omit<TraceEvent, 'message'> & { readonly message: unknown }> = object(
  'trace event',
  {
    seq: req(integer(1), 'Number of the event for this reader, from 1 without gaps.'),
    at: req(count, 'Microseconds since the request started.'),
    from: opt(count, 'For a step with a duration: when it began, on the same clock.'),
    severity: req(oneOf(['info', 'success', 'warn', 'error']), 'Outcome.'),
    request: req(string(), 'Identifier of the request.'),
    worker: req(count, 'The worker that served it.'),
    scope: req(list(string()), 'Enclosing steps, outermost first: attempt, target.'),
    origins: req(list(ORIGIN), 'Where the object concerned is configured.'),
    message: req(json, 'What happened; `type` says which kind of message it is.'),
  },
  grows,
)

function message<T extends TraceMessageType, F extends Fields>(type: T, fields: F) {
  return object(type, { type: req(oneOf([type]), 'Kind of message.'), ...fields }, grows)
}

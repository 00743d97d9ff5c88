const text = { type: 'string' }
const size = { type: 'integer', minimum: -1 }
const duration = { type: 'number', minimum: -1 }
const known = { type: 'number', minimum: 0 }

/** All of `fields`, `optional` ones, and names of one's own, which begin with an underscore: nothing else. */
const record = (fields: Record<string, object>, optional: Record<string, object> = {}) => ({
  type: 'object',
  properties: { ...fields, ...optional, comment: text },
  required: Object.keys(fields),
  patternProperties: { '^_': {} },
  additionalProperties: false,
})
const list = (items: object) => ({ type: 'array', items })
const pairs = list(record({ name: text, value: text }))
const cookies = list(record({ name: text, value: text }))

const request = record(
  {
    method: text,
    url: text,
    httpVersion: text,
    cookies,
    headers: pairs,
    queryString: pairs,
    headersSize: size,
    bodySize: size,
  },
  { postData: record({ mimeType: text, params: list(record({ name: text })), text }) },
)

const response = record({
  status: { type: 'integer', minimum: 0 },
  statusText: text,
  httpVersion: text,
  cookies,
  headers: pairs,
  content: record({ size: { type: 'integer', minimum: 0 }, mimeType: text }, { text, encoding: text }),
  redirectURL: text,
  headersSize: size,
  bodySize: size,
})

const entry = record({
  startedDateTime: {
    type: 'string',
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$',
  },
  time: known,
  request,
  response,
  cache: record({}),
  timings: record(
    { send: known, wait: known, receive: known },
    { blocked: duration, dns: duration, connect: duration, ssl: duration },
  ),
})

/** HAR 1.2, as far as traces use it; https://w3c.github.io/web-performance/specs/HAR/Overview.html. */
export const HAR = record({
  log: record({ version: { const: '1.2' }, creator: record({ name: text, version: text }), entries: list(entry) }),
})

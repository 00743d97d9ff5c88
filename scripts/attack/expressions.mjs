const BAD = '{"role":"bad"}'
const ROLE = 'json(request.body).role == "bad"'
const SMALL = 'frontendPolicies: {http: {maxBufferSize: 65536}}\n'

/** What a client sends, and the rule that it would like to switch off. */
const SWITCHES = [
  ['the value itself', ROLE, { body: BAD }],
  ['a byte-order mark', ROLE, { body: `\ufeff${BAD}` }],
  ['UTF-16', ROLE, { body: Buffer.from(`\ufeff${BAD}`, 'utf16le') }],
  [
    'one invalid byte',
    ROLE,
    { body: Buffer.concat([Buffer.from('{"x":"'), Buffer.of(0xc0), Buffer.from(`",${BAD.slice(1)}`)]) },
  ],
  ['padding before it', ROLE, { body: ' '.repeat(70_000) + BAD }],
  ['padding behind it', ROLE, { body: BAD + ' '.repeat(70_000) }],
  ['padding, in chunks', ROLE, { body: ' '.repeat(70_000) + BAD, chunked: true }],
  ['padding, and `has`', `has(request.body) && ${ROLE}`, { body: ' '.repeat(70_000) + BAD }],
  ['padding, and `default`', `default(${ROLE}, false)`, { body: ' '.repeat(70_000) + BAD }],
  ['padding, and `coalesce`', `coalesce(${ROLE}, false)`, { body: ' '.repeat(70_000) + BAD }],
  ['padding, and an optional', 'json(request.?body.orValue(b"{}")).role == "bad"', { body: ' '.repeat(70_000) + BAD }],
  ['depth', ROLE, { body: `{"x":${'['.repeat(20_000)}${']'.repeat(20_000)},"role":"bad"` }],
  ['a member twice', ROLE, { body: `{"role":"bad","role":"good"}` }],
  ['a member twice, once escaped', ROLE, { body: `{"ro\\u006ce":"bad","role":"good"}` }],
  ['a comment', ROLE, { body: `${BAD}//` }],
  ['compression', ROLE, { body: Buffer.from('1f8b08000000000000', 'hex'), fields: ['content-encoding: gzip'] }],
  ['a list in place of a map', 'json(request.body).user.role == "bad"', { body: `{"user":[${BAD}]}` }],
  ['null in place of a map', 'json(request.body).user.role == "bad"', { body: '{"user":null}' }],
  ['text in place of a number', 'int(request.headers["x-n"]) > 5', { fields: ['x-n: 6e0'] }],
  ['a number past 64 bits', 'int(request.headers["x-n"]) > 5', { fields: ['x-n: 9223372036854775808'] }],
  ['a header sent twice', 'request.headers["x-role"] == "bad"', { fields: ['x-role: bad', 'x-role: bad'] }],
  ['the same in other letters', 'request.headers["x-role"] in ["bad"]', { fields: ['x-role: bad', 'X-Role: good'] }],
  [
    '52,000 slashes',
    'request.path.split("/").exists(p, request.path.split("/").exists(q, q == "bad"))',
    { path: `${'/'.repeat(52_000)}bad` },
  ],
  [
    '101,000 elements',
    'json(request.body).exists(p, p == "bad")',
    { body: `[${'1,'.repeat(30_000)}"bad"]`, small: false },
  ],
  ['an absent value first', `request.headers["x-none"] == "1" || ${ROLE}`, { body: `\ufeff${BAD}` }],
  ['an absent element first', 'json(request.body).exists(m, m.role == "bad")', { body: '[{},1]' }],
  ['a mapped address', 'cidr("10.0.0.0/8").containsIP(request.headers["x-ip"])', { fields: ['x-ip: ::ffff:10.0.0.1'] }],
]

const policy = (port, text, frontend = SMALL) =>
  `${frontend}binds: [{port: ${port}, listeners: [{routes: [{policies: {${text}}}]}]}]`
const OK = 'directResponse: {status: 200, body: in}'

function bytesOf({ body, fields = [], path = '/', chunked = false }) {
  const bytes = Buffer.from(body ?? '')
  const length = chunked ? 'transfer-encoding: chunked' : `content-length: ${bytes.length}`
  const head = [`POST ${path} HTTP/1.1`, 'host: a.test', 'connection: close', length, ...fields].join('\r\n')
  const content = chunked ? [`${bytes.length.toString(16)}\r\n`, bytes, '\r\n0\r\n\r\n'] : [bytes]
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), ...content.map(part => Buffer.from(part))])
}

/** @type {readonly import('./areas.mjs').Attack[]} */
export const expressions = [
  {
    name: 'Requests that make a `deny` rule fail: padding, byte-order marks, UTF-16, invalid bytes, depth, other types, members and headers sent twice, 52,000 slashes',
    defends: 'a rule that cannot be evaluated denies; only what is not there leaves it without effect',
    async run({ start, raw, holds }) {
      const gateway = await start(port => policy(port, OK))
      for (const [what, rule, sent] of SWITCHES) {
        const rules = `authorization: {rules: [{deny: ${JSON.stringify(rule)}}]}, ${OK}`
        await gateway.reload(port => policy(port, rules))
        const reply = await raw(gateway.port, bytesOf(sent))
        holds(reply.startsWith('HTTP/1.1 403 '), `${what}: ${JSON.stringify(reply.slice(0, 60))}`)
      }
      return `${SWITCHES.length} of ${SWITCHES.length} denied`
    },
  },
  {
    name: 'Requests that make the condition of a stricter rate limit fail, so that the next one applies',
    defends: 'answered 403: neither entry is chosen',
    async run({ start, raw, holds }) {
      const limits = `localRateLimit: {conditional: [{condition: '${ROLE}', requests: 1, unit: hours}, {requests: 1000, unit: hours}]}, ${OK}`
      const gateway = await start(port => policy(port, limits))
      const sent = SWITCHES.filter(([, rule, { body }]) => rule === ROLE && body !== BAD)
      for (const [what, , request] of sent) {
        const reply = await raw(gateway.port, bytesOf(request))
        holds(reply.startsWith('HTTP/1.1 403 '), `${what}: ${JSON.stringify(reply.slice(0, 60))}`)
      }
      return `${sent.length} of ${sent.length} answered 403`
    },
  },
  {
    name: 'A token without the claims that an `allow` rule asks for with `has` and optionals',
    defends: 'an optional that is empty is not there',
    async run({ start, raw, holds }) {
      const rules = [
        'has(jwt.?groups.admin)',
        'has(jwt.?groups)',
        'default(jwt.?groups.admin, false)',
        'jwt.?groups.admin.hasValue()',
      ]
      const gateway = await start(port => policy(port, OK))
      for (const rule of rules) {
        await gateway.reload(port => policy(port, `authorization: {rules: [${JSON.stringify(rule)}]}, ${OK}`))
        const reply = await raw(gateway.port, bytesOf({}))
        holds(reply.startsWith('HTTP/1.1 403 '), `${rule}: ${JSON.stringify(reply.slice(0, 60))}`)
      }
      return `${rules.length} of ${rules.length} refused`
    },
  },
]

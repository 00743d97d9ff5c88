const ROUTES = port => `binds:
- port: ${port}
  listeners:
  - routes:
    - {name: deep, matches: [{path: {pathPrefix: /a/b}}], policies: {directResponse: {status: 200, body: deep}}}
    - {name: wild, hostnames: ['*.wild.test', '*.test'], policies: {directResponse: {status: 200, body: wild}}}
    - {name: rest, policies: {directResponse: {status: 200, body: rest}}}
`
const ROUNDS = 30

/** ms of processor time for so many requests with each of these heads. */
async function costOf(gateway, raw, head) {
  const bytes = `${head}Connection: close\r\n\r\n`
  await raw(gateway.port, bytes)
  const before = gateway.cpu()
  let reply = ''
  for (let i = 0; i < ROUNDS; i++) reply = await raw(gateway.port, bytes)
  return { ms: gateway.cpu() - before, status: reply.slice(9, 12) }
}

/** Over the same bytes where nobody looks into them; what grows with their square would cost a hundred times as much. */
const FACTOR = 6

const compared = (name, what, hostile, plain) => ({
  name,
  defends: what,
  async run({ start, raw, holds }) {
    const gateway = await start(ROUTES)
    const base = await costOf(gateway, raw, plain)
    const cost = await costOf(gateway, raw, hostile)
    const most = FACTOR * Math.max(base.ms, 20)
    holds(cost.ms <= most, `${cost.ms} ms for ${ROUNDS} requests, and ${base.ms} ms for plain ones as long`)
    return `${ROUNDS} requests: ${cost.ms} ms of processor time, ${base.ms} ms for plain ones as long`
  },
})

const SIZE = 60_000

/** @type {readonly import('./areas.mjs').Attack[]} */
export const cost = [
  compared(
    '60,000 slashes in a path, each a prefix to look up',
    'looked up as often as the configuration has lengths of prefixes',
    `GET ${'/'.repeat(SIZE)} HTTP/1.1\r\nHost: a\r\n`,
    `GET /${'a'.repeat(SIZE)} HTTP/1.1\r\nHost: a\r\n`,
  ),
  compared(
    '60,000 dots in a host, each a wildcard to look up',
    'looked up as often as the configuration has lengths of wildcards',
    `GET / HTTP/1.1\r\nHost: ${'a.'.repeat(SIZE / 2)}wild.test\r\n`,
    `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(SIZE)}\r\n`,
  ),
  {
    name: 'Megabytes of empty lines before a request',
    defends: 'answered 400 after eight of them',
    async run({ start, raw, holds }) {
      const gateway = await start(ROUTES)
      const before = gateway.cpu()
      const reply = await raw(gateway.port, '\r\n'.repeat(4_000_000))
      const spent = gateway.cpu() - before
      holds(/^HTTP\/1\.1 400 /.test(reply) || reply === '', `answered ${JSON.stringify(reply.slice(0, 40))}`)
      holds(spent < 1000, `8 MB of them took ${spent} ms`)
      const nine = await raw(gateway.port, `${'\r\n'.repeat(9)}GET / HTTP/1.1\r\nHost: a\r\n\r\n`)
      holds(nine.startsWith('HTTP/1.1 400 '), `nine of them are answered ${nine.slice(0, 40)}`)
      return `8 MB: ${spent} ms of processor time`
    },
  },
]

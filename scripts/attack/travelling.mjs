import { makeIssuer } from './forged-tokens.mjs'

const statusOf = reply => Number(/^HTTP\/1\.1 (\d{3})/.exec(reply)?.[1])
const LATE = 12_000

/** What a service does, by the path that it is asked about. */
function answersBy(res) {
  const { socket } = res
  return {
    '/hang': () => {},
    '/drip': () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n')
      const timer = setInterval(() => socket.write('x'), 500)
      socket.on('close', () => clearInterval(timer))
    },
    '/drip-head': () => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const timer = setInterval(() => socket.write('x: y\r\n'), 500)
      socket.on('close', () => clearInterval(timer))
    },
    '/reset': () => socket.resetAndDestroy(),
    '/cut': () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'),
    '/lengths': () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok!'),
    '/both': () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'),
    '/garbage': () => socket.end('200 OK\r\n\r\n'),
    '/created': () => res.writeHead(201).end(),
    '/empty': () => res.writeHead(204).end(),
    '/partial': () => res.writeHead(206).end(),
    '/redirect': () => res.writeHead(302, { location: 'http://evil.test/' }).end(),
    '/hints': () =>
      socket.end('HTTP/1.1 103 Early Hints\r\nx-user: root\r\n\r\nHTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n'),
    '/right': () => res.end(),
  }
}

/** @type {readonly import('./areas.mjs').Attack[]} */
export const travelling = [
  {
    name: 'An authorization service that hangs, drips, resets, is cut off, promises another length, answers 2xx that is not 200, redirects, or 103 before all else',
    defends: '200 alone lets a request pass, whole and within two seconds',
    async run({ start, backend, raw, holds }) {
      const service = await backend((req, res) => {
        answersBy(res)[req.url]()
      })
      const behind = await backend()
      const gateway = await start(
        port =>
          `binds: [{port: ${port}, listeners: [{routes: [{backends: [{host: '${behind.host}'}], policies: {extAuthz: {host: '${service.host}', protocol: {http: {}}}}}]}]}]`,
      )
      const paths = [
        'hang',
        'drip',
        'drip-head',
        'reset',
        'cut',
        'lengths',
        'both',
        'garbage',
        'created',
        'empty',
        'partial',
        'redirect',
        'hints',
      ]
      for (const path of paths) {
        const from = performance.now()
        const reply = await raw(gateway.port, `GET /${path} HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n`, {
          quiet: LATE,
        })
        const status = statusOf(reply)
        const passes = status === 403 || (path === 'redirect' && status === 302)
        holds(passes, `${path}: ${JSON.stringify(reply.slice(0, 80))}`)
        holds(performance.now() - from < LATE, `${path}: took ${Math.round(performance.now() - from)} ms`)
      }
      holds(behind.requests.length === 0, `${behind.requests.length} requests arrived`)
      const honest = await raw(gateway.port, 'GET /right HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n\r\n')
      holds(statusOf(honest) === 200, `an honest answer: ${JSON.stringify(honest.slice(0, 60))}`)
      return `${paths.length} of ${paths.length} reached nothing`
    },
  },
  {
    name: 'Requests made to share the kept decision of somebody else: parts of the key that run into one another, fields sent twice, other types, encodings and case',
    defends: 'a key is all of its parts, each with its type; a part that cannot be computed keeps nothing',
    async run({ start, backend, raw, holds }) {
      const service = await backend((req, res) =>
        res.writeHead(req.headers['x-a'] === 'ann' && req.headers['x-b'] === 'red' ? 200 : 403).end(),
      )
      const behind = await backend()
      const key = `'request.headers["x-a"]', 'request.headers["x-b"]'`
      const gateway = await start(
        port =>
          `binds: [{port: ${port}, listeners: [{routes: [{backends: [{host: '${behind.host}'}], policies: {extAuthz: {host: '${service.host}', includeRequestHeaders: [x-a, x-b], protocol: {http: {}}, cache: {key: [${key}], ttl: '"1h"'}}}}]}]}]`,
      )
      const send = fields => raw(gateway.port, `GET / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n${fields}\r\n`)
      const honest = 'x-a: ann\r\nx-b: red\r\n'
      holds(statusOf(await send(honest)) === 200, 'the honest request is refused')
      const asked = service.requests.length
      holds(statusOf(await send(honest)) === 200 && service.requests.length === asked, 'nothing is kept')
      const attempts = [
        'x-a: annred\r\n',
        'x-a: annred\r\nx-b: \r\n',
        'x-a: an\r\nx-b: nred\r\n',
        'x-a: ann,red\r\n',
        'x-a: ann\r\nx-a: red\r\n',
        'x-a: ["ann"\r\nx-b: "red"]\r\n',
        'x-a: ann","red\r\nx-b: \r\n',
        'x-a: Ann\r\nx-b: red\r\n',
        'x-a: ann\r\nx-b: red\r\nx-b: blue\r\n',
        'x-a: ann\r\nx-a: mallory\r\nx-b: red\r\n',
        'x-a: ann \tx\r\nx-b: red\r\n',
        'x_a: ann\r\nx_b: red\r\n',
      ]
      for (const fields of attempts) {
        const status = statusOf(await send(fields))
        holds(status === 403 || status === 400, `${JSON.stringify(fields)}: ${status}`)
      }
      holds(statusOf(await send(honest)) === 200, 'the honest request is refused afterwards')
      return `${attempts.length} of ${attempts.length} refused`
    },
  },
  {
    name: 'Many users at once whose tokens are exchanged for upstream tokens, with a token endpoint that answers out of order, to be given the token of another',
    defends: 'an exchanged token belongs to what was shown for it',
    async run({ start, backend, raw, holds }) {
      const issuer = makeIssuer()
      const nameIn = token => JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString()).sub
      const endpoint = await backend((req, res) => {
        const name = nameIn(new URLSearchParams(req.body).get('subject_token'))
        const reply = JSON.stringify({
          access_token: `for-${name}`,
          token_type: 'Bearer',
          expires_in: 60,
          issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        })
        setTimeout(() => res.writeHead(200, { 'content-type': 'application/json' }).end(reply), Math.random() * 30)
      })
      const behind = await backend((req, res) => res.end(req.headers.authorization))
      const gateway = await start(
        port =>
          `binds: [{port: ${port}, listeners: [{routes: [{policies: {jwtAuth: {issuer: 'https://issuer.test', jwks: '${issuer.jwks}'}}, backends: [{host: '${behind.host}', policies: {backendAuth: {oauthTokenExchange: {host: '${endpoint.host}'}}}}]}]}]}]`,
      )
      const users = Array.from({ length: 20 }, (_, i) => `user${i}`)
      const tokens = new Map(users.map(name => [name, issuer.token({ sub: name })]))
      const ask = async name => {
        const reply = await raw(
          gateway.port,
          `GET / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\nauthorization: Bearer ${tokens.get(name)}\r\n\r\n`,
          { quiet: LATE },
        )
        holds(
          reply.includes(`Bearer for-${name}\r\n`) || reply.endsWith(`Bearer for-${name}`),
          `${name}: ${JSON.stringify(reply.slice(-80))}`,
        )
      }
      for (let round = 0; round < 5; round++) await Promise.all(users.map(ask))
      holds(
        endpoint.requests.length === users.length,
        `${endpoint.requests.length} exchanges for ${users.length} users`,
      )
      return `${users.length * 5} requests, each with its own token, of ${users.length} exchanges`
    },
  },
]

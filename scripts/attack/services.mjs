const statusOf = reply => Number(/^HTTP\/1\.1 (\d{3})/.exec(reply)?.[1])

const guarded = (port, service, backend, more) => `
binds: [{port: ${port}, listeners: [{routes: [{backends: [{host: '127.0.0.1:${backend}'}],
  policies: {extAuthz: {host: '127.0.0.1:${service}', failureMode: allow, ${more}}}}]}]}]`

/** @type {readonly import('./areas.mjs').Attack[]} */
export const services = [
  {
    name: 'Requests that an authorization service cannot be asked about, where `failureMode: allow` lets them pass when it is away: bodies that are too long, `content-length` of another body, text that an expression cannot read',
    defends: 'answered 413 or 403, or asked about: only a service that gives no answer is passed over',
    async run({ start, backend, raw, holds }) {
      const service = await backend((req, res) => res.writeHead(req.headers['x-pass'] === 'yes' ? 200 : 403).end())
      const behind = await backend()
      const more = `includeRequestHeaders: [x-pass, content-length, transfer-encoding, connection, host],
        includeRequestBody: {maxRequestBytes: 16}, protocol: {http: {addRequestHeaders: {x-id: 'string(json(request.body).id)'}}}`
      const gateway = await start(port => guarded(port, service.port, behind.port, more))
      const send = (fields, body) =>
        raw(
          gateway.port,
          `POST / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n${fields}content-length: ${body.length}\r\n\r\n${body}`,
        )
      const attempts = [
        ['', `{"id": "${'a'.repeat(100)}"}`],
        ['', '{"id": '],
        ['', '{"id": [1]}'],
        ['', '{"id": "a"}'],
        ['x-pass: yes\r\nx-pass: no\r\n', '{"id": "a"}'],
        ['connection: x-id\r\nx-id: b\r\n', '{"id": "a"}'],
      ]
      for (const [fields, body] of attempts) {
        const status = statusOf(await send(fields, body))
        holds(status === 403 || status === 413, `${JSON.stringify(fields + body.slice(0, 20))}: ${status}`)
      }
      const honest = statusOf(await send('x-pass: yes\r\n', '{"id": "a"}'))
      holds(honest === 200, `an honest request: ${honest}`)
      return `${attempts.length} of ${attempts.length} refused`
    },
  },
  {
    name: 'Header fields under the names in which an authorization service tells backends who somebody is',
    defends: 'removed, also where the service says nothing under that name',
    async run({ start, backend, raw, holds }) {
      const service = await backend((_req, res) => res.writeHead(200, { 'x-user': 'ann' }).end())
      const seen = []
      const behind = await backend((req, res) => {
        seen.push(`${req.headers['x-user']} ${req.headers['x-admin']}`)
        res.end()
      })
      const gateway = await start(port =>
        guarded(port, service.port, behind.port, 'protocol: {http: {includeResponseHeaders: [x-user, x-admin]}}'),
      )
      for (const fields of ['x-user: root\r\nx-admin: 1\r\n', 'X-User: root\r\nx-user: root\r\nX-ADMIN: 1\r\n']) {
        await raw(gateway.port, `GET / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\n${fields}\r\n`)
      }
      holds(seen.length === 2 && seen.every(each => each === 'ann undefined'), `the backend saw ${seen.join(', ')}`)
      return 'the backend saw the words of the service only'
    },
  },
  {
    name: 'Trailers of a request under the names that rules, header modifiers and an authorization service speak about',
    defends: 'read and left behind: no policy has seen them',
    async run({ start, backend, raw, holds }) {
      const service = await backend((_req, res) => res.writeHead(200, { 'x-user': 'ann' }).end())
      const trailers = []
      const behind = await backend((req, res) => {
        trailers.push(...req.rawTrailers)
        res.end()
      })
      const more = `protocol: {http: {includeResponseHeaders: [x-user]}}}, requestHeaderModifier: {remove: [x-debug]},
        authorization: {rules: [{deny: 'request.headers["x-role"] == "admin"'}]`
      const gateway = await start(port => guarded(port, service.port, behind.port, more))
      const names = ['x-user', 'X-Role', 'x-debug', 'authorization', 'cookie', 'host', 'x-new']
      for (const name of names) {
        const head = `POST / HTTP/1.1\r\nhost: a.test\r\nconnection: close\r\ntrailer: ${name}\r\ntransfer-encoding: chunked\r\n\r\n`
        const reply = await raw(gateway.port, `${head}1\r\na\r\n0\r\n${name}: admin\r\n\r\n`)
        holds(statusOf(reply) === 200, `${name}: ${JSON.stringify(reply.slice(0, 60))}`)
      }
      holds(trailers.length === 0, `the backend got ${trailers.join(', ')}`)
      return `none of ${names.length} arrived`
    },
  },
]

/** @type {readonly import('./areas.mjs').Attack[]} */
export const http1 = [
  {
    name: '`Content-Length` and `Transfer-Encoding` in one request, so that two readers disagree on where it ends',
    defends: 'answered 400 and the connection closed; nothing reaches a backend',
    async run({ start, backend, raw, holds }) {
      const upstream = await backend()
      const gateway = await start(
        port => `binds: [{port: ${port}, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]`,
      )
      const heads = [
        'Content-Length: 5\r\nTransfer-Encoding: chunked',
        'Transfer-Encoding: chunked\r\nContent-Length: 5',
      ]
      for (const head of heads) {
        const reply = await raw(
          gateway.port,
          `POST / HTTP/1.1\r\nHost: a.test\r\n${head}\r\n\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: a.test\r\n\r\n`,
        )
        holds(reply.startsWith('HTTP/1.1 400 '), `answered ${JSON.stringify(reply.slice(0, 40))}`)
      }
      holds(upstream.requests.length === 0, `${upstream.requests.length} requests reached the backend`)
      return `${heads.length} of ${heads.length} answered 400`
    },
  },
  {
    name: '`#`, `\\`, a control character or a space in the request target, so that a backend serves another path',
    defends: 'answered 400 over HTTP/1.1 and HTTP/2; nothing reaches a backend',
    async run({ start, backend, raw, holds }) {
      const upstream = await backend()
      const gateway = await start(open(upstream))
      const bytes = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code))
      const odd = bytes.filter(each => !/[!-~]/.test(each) || each === '#' || each === '\\')
      for (const each of odd) {
        const reply = await raw(gateway.port, request(`/admin${each}x`), { quiet: 200 })
        holds(
          reply.startsWith('HTTP/1.1 400 '),
          `${JSON.stringify(each)} is answered ${JSON.stringify(reply.slice(0, 40))}`,
        )
      }
      holds(upstream.requests.length === 0, `${upstream.requests.length} requests reached the backend`)
      return `${odd.length} of ${odd.length} answered 400`
    },
  },
  {
    name: '`//admin`, `/x/../admin`, `/%61dmin`, `/admin%2Fx` and the like, past the rule for `/admin`',
    defends: 'the rule sees the path that the backend sees; what has two readings is answered 400',
    async run({ start, backend, raw, holds }) {
      const upstream = await backend()
      const gateway = await start(guarded(upstream))
      const forms = [
        '//admin',
        '/./admin',
        '/x/../admin',
        '/x/%2e%2E/admin',
        '/%61dmin',
        '/admin%2Fx',
        '/x/..%2fadmin',
        '/x/..;/admin',
        '/x/..%5cadmin',
        '/%%32%65/admin',
        'http://a.test//admin',
      ]
      for (const form of forms) {
        const reply = await raw(gateway.port, request(form))
        holds(/^HTTP\/1\.1 40[03] /.test(reply), `${form} is answered ${JSON.stringify(reply.slice(0, 40))}`)
      }
      holds(upstream.requests.length === 0, `${upstream.requests.length} requests reached the backend`)
      return `${forms.length} of ${forms.length} refused`
    },
  },
  {
    name: 'a `Host` with a dot at its end, in capitals or with a port that is none, past the rule for that host',
    defends: 'one host has one name; what is not a port is answered 400',
    async run({ start, backend, raw, holds }) {
      const upstream = await backend()
      const gateway = await start(guarded(upstream))
      const hosts = [
        'admin.test.',
        'ADMIN.test',
        'admin.test:',
        'admin.test.:80',
        'admin.test:99999',
        'admin.test:0',
        'admin.test..',
      ]
      for (const host of hosts) {
        const reply = await raw(gateway.port, request('/', host))
        holds(/^HTTP\/1\.1 40[03] /.test(reply), `${host} is answered ${JSON.stringify(reply.slice(0, 40))}`)
      }
      holds(upstream.requests.length === 0, `${upstream.requests.length} requests reached the backend`)
      return `${hosts.length} of ${hosts.length} refused`
    },
  },
  {
    name: 'a `Connection` field that lists what the gateway sets, so that it does not reach the backend',
    defends: 'the listed fields of the client are dropped before policies run',
    async run({ start, backend, raw, holds }) {
      const upstream = await backend()
      const gateway = await start(
        port =>
          `binds: [{port: ${port}, listeners: [{routes: [{policies: {requestHeaderModifier: {set: {x-user: gateway}}}, backends: [{host: '${upstream.host}'}]}]}]}]`,
      )
      await raw(gateway.port, `GET / HTTP/1.1\r\nHost: a.test\r\nX-User: admin\r\nConnection: close, x-user\r\n\r\n`)
      const { headers } = upstream.requests[0] ?? { headers: [] }
      holds(headers.join().includes('x-user,gateway'), `the backend received ${headers.join()}`)
      return 'the field arrived as the gateway set it'
    },
  },
  {
    name: 'an `Upgrade` to `h2c` or another protocol, to speak to the backend past every rule',
    defends: 'only `websocket` is passed on',
    async run({ start, backend, raw, holds }) {
      const upstream = await backend()
      const gateway = await start(open(upstream))
      const protocols = ['h2c', 'H2C', 'TLS/1.0', 'HTTP/2.0', 'tcp', 'h2c, TLS/1.0']
      for (const each of protocols)
        await raw(
          gateway.port,
          `GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: ${each}\r\nHTTP2-Settings: AAMAAABk\r\nConnection: upgrade, http2-settings, close\r\n\r\n`,
        )
      const passed = upstream.requests.filter(({ headers }) => /upgrade|http2/i.test(headers.join()))
      holds(passed.length === 0, `${passed.length} upgrades reached the backend`)
      holds(upstream.requests.length === protocols.length, `${upstream.requests.length} requests were served`)
      return `${protocols.length} of ${protocols.length} served as plain requests`
    },
  },
]

const open = upstream => port =>
  `binds: [{port: ${port}, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]`

const guarded = upstream => port => {
  const deny = "policies: {authorization: {rules: [{deny: 'true'}]}}"
  const backends = `backends: [{host: '${upstream.host}'}]`
  const routes = [
    `{matches: [{path: {pathPrefix: /admin}}], ${deny}, ${backends}}`,
    `{hostnames: [admin.test], ${deny}, ${backends}}`,
    `{${backends}}`,
  ]
  return `binds: [{port: ${port}, listeners: [{routes: [${routes}]}]}]`
}

function request(target, host = 'a.test') {
  return `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
}

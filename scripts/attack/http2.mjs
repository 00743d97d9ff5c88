import { connect } from 'node:http2'

/** @type {readonly import('./areas.mjs').Attack[]} */
export const http2 = [
  {
    name: 'an extended CONNECT (RFC 8441) with `:protocol` `h2c`, whose DATA reaches the backend raw',
    defends: 'answered 501: only `websocket` is passed on',
    async run({ start, backend, holds }) {
      const upstream = await backend()
      const gateway = await start(
        port => `binds: [{port: ${port}, listeners: [{routes: [{backends: [{host: '${upstream.host}'}]}]}]}]`,
      )
      const protocols = ['h2c', 'H2C', 'tcp', 'TLS/1.0', 'connect-udp', 'websocket, h2c']
      for (const each of protocols) {
        const status = await extendedConnect(gateway.port, each)
        holds(status === 501 || status === 400, `\`${each}\` is answered ${status}`)
      }
      holds(upstream.requests.length === 0, `${upstream.requests.length} requests reached the backend`)
      return `${protocols.length} of ${protocols.length} refused`
    },
  },
  {
    name: 'a head of 70 to 140 KB, which could be refused without a trace',
    defends: 'answered 431, with a record',
    async run({ start, holds }) {
      const gateway = await start(
        port => `binds: [{port: ${port}, listeners: [{routes: [{policies: {directResponse: {status: 200}}}]}]}]`,
      )
      for (const fields of [2, 4]) {
        const large = Object.fromEntries(Array.from({ length: fields }, (_, i) => [`x-${i}`, 'a'.repeat(35_000)]))
        const status = await statusOf(gateway.port, { ':path': '/', ...large })
        holds(status === 431, `${fields} fields of 35,000 bytes are answered ${status}`)
      }
      return '2 of 2 answered 431'
    },
  },
]

function extendedConnect(port, protocol) {
  return statusOf(port, {
    ':method': 'CONNECT',
    ':protocol': protocol,
    ':scheme': 'http',
    ':path': '/',
    ':authority': 'a.test',
  })
}

/** Undefined: the stream was reset. */
function statusOf(port, head) {
  const client = connect(`http://127.0.0.1:${port}`, { maxSendHeaderBlockLength: 1_000_000 })
  return new Promise(resolve => {
    client.on('error', () => resolve(undefined))
    client.once('remoteSettings', () => {
      const stream = client.request(head, { endStream: false })
      stream.on('response', headers => resolve(headers[':status']))
      stream.on('error', () => resolve(undefined)).on('close', () => resolve(undefined))
      stream.write('GET /raw HTTP/1.1\r\nHost: a\r\n\r\n')
    })
  }).finally(() => client.destroy())
}

import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const READS = "transformations: {request: {set: {x-length: 'string(size(request.body))'}}}"
const KEY = 'apiKey: {mode: strict, keys: [{key: secret}]}'
const config = (port, host, policies, http = '') => `frontendPolicies: {http: {${http}}}
binds: [{port: ${port}, listeners: [{routes: [{policies: {${policies}}, backends: [{host: '${host}'}]}]}]}]`
const post = (fields, body = '') => `POST / HTTP/1.1\r\nHost: a.test\r\n${fields}\r\n${body}`

/** What comes back on a connection that stays open; `bytes` goes first. */
function dial(port, bytes) {
  const socket = connect(port, '127.0.0.1')
  const heard = { text: '', socket }
  socket
    .on('error', () => {})
    .on('data', chunk => {
      heard.text += chunk.toString('latin1')
    })
  socket.write(bytes, 'latin1')
  return heard
}

async function within(ms, holds) {
  const until = Date.now() + ms
  while (!holds() && Date.now() < until) await pause(20)
  return holds()
}

/** @type {readonly import('./areas.mjs').Attack[]} */
export const bodies = [
  {
    name: 'A body that is announced without credentials and never sent, before a policy that reads it',
    defends: 'answered 401 at once: bodies are read where the first policy that needs them stands',
    async run({ start, backend, holds }) {
      const upstream = await backend()
      const gateway = await start(port => config(port, upstream.host, `${KEY}, ${READS}`))
      const waiting = Array.from({ length: 20 }, () => dial(gateway.port, post('Content-Length: 1000000\r\n')))
      const answered = () => waiting.filter(({ text }) => text.startsWith('HTTP/1.1 401 ')).length
      await within(5000, () => answered() === waiting.length)
      for (const { socket } of waiting) socket.destroy()
      holds(answered() === waiting.length, `${answered()} of ${waiting.length} were answered`)
      return `${answered()} of ${waiting.length} answered 401`
    },
  },
  {
    name: '`Expect: 100-continue` without credentials, so that the gateway asks for a body it will not use',
    defends: 'answered 401 without a 100 before it',
    async run({ start, backend, raw, holds }) {
      const upstream = await backend()
      const gateway = await start(port => config(port, upstream.host, `${KEY}, ${READS}`))
      const reply = await raw(gateway.port, post('Content-Length: 5\r\nExpect: 100-continue\r\n'))
      holds(reply.startsWith('HTTP/1.1 401 '), `answered ${JSON.stringify(reply.slice(0, 60))}`)
      return '401'
    },
  },
  {
    name: 'A body that comes byte by byte, on many connections at once',
    defends: 'answered 408 once it is below 240 bytes a second after ten seconds (`bufferMinRate`)',
    async run({ start, backend, holds }) {
      const upstream = await backend()
      const gateway = await start(port => config(port, upstream.host, READS))
      const slow = Array.from({ length: 20 }, () => dial(gateway.port, post('Content-Length: 1000000\r\n')))
      const drip = setInterval(() => {
        for (const { socket } of slow) if (socket.writable) socket.write('x')
      }, 500)
      const ended = () => slow.filter(({ text }) => text.startsWith('HTTP/1.1 408 ')).length
      await within(25_000, () => ended() === slow.length)
      clearInterval(drip)
      for (const { socket } of slow) socket.destroy()
      holds(ended() === slow.length, `${slow.length - ended()} of ${slow.length} still wait`)
      holds(upstream.requests.length === 0, 'a part of a body reached the backend')
      return `${ended()} of ${slow.length} answered 408`
    },
  },
  {
    name: 'Bodies of many requests that stop short of their end, to fill the memory of all workers together',
    defends: 'answered 503 with `Retry-After` beyond `maxBufferTotal`, and nothing stays counted afterwards',
    async run({ start, backend, raw, holds }) {
      const upstream = await backend()
      const gateway = await start(
        port => config(port, upstream.host, READS, 'maxBufferTotal: 8Mi, maxBufferSize: 1Mi'),
        {
          workers: 2,
        },
      )
      const size = 1_000_000
      const before = gateway.memory()
      const held = Array.from({ length: 64 }, () =>
        dial(gateway.port, post(`Content-Length: ${size}\r\n`, 'x'.repeat(size - 1))),
      )
      const refused = () => held.filter(({ text }) => text.startsWith('HTTP/1.1 503 '))
      await within(8000, () => refused().length >= held.length - 8)
      const grown = Math.round((gateway.memory() - before) / 2 ** 20)
      const answers = refused()
      for (const { socket } of held) socket.destroy()
      holds(
        answers.length >= held.length - 8,
        `${held.length - answers.length} bodies of 1 MB are held, and 8 MiB may be`,
      )
      holds(
        answers.every(({ text }) => /\r\nretry-after: \d+\r\n/i.test(text)),
        'a 503 does not say when to come again',
      )
      await pause(500)
      const after = await raw(gateway.port, post(`Content-Length: 1000\r\nConnection: close\r\n`, 'x'.repeat(1000)))
      holds(after.startsWith('HTTP/1.1 200 '), `a body of 1,000 bytes was then answered ${after.slice(0, 40)}`)
      return `${answers.length} of ${held.length} answered 503, resident memory grew by ${grown} MiB`
    },
  },
  {
    name: 'Bodies in chunks of one byte, each of which would take a hundred times its size while the body is read',
    defends: 'small chunks are joined: what a body takes is near to what is counted',
    async run({ start, backend, holds }) {
      const upstream = await backend()
      const gateway = await start(port => config(port, upstream.host, READS))
      const before = gateway.memory()
      // It never comes to its end.
      const body = '1\r\nx\r\n'.repeat(1_500_000)
      const held = Array.from({ length: 12 }, () => dial(gateway.port, post('Transfer-Encoding: chunked\r\n', body)))
      await within(60_000, () => held.every(({ socket }) => socket.writableLength === 0))
      await pause(1000)
      const grown = Math.round((gateway.memory() - before) / 2 ** 20)
      for (const { socket } of held) socket.destroy()
      holds(grown < 600, `12 bodies of 1.5 MB take ${grown} MiB`)
      return `12 bodies of 1.5 MB take ${grown} MiB`
    },
  },
]

// What the benchmarks of tracing have in common: a gateway in a process of its own, and the load on it.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { connect } from 'node:net'
import { config } from './trace-bundles.mjs'

const CONNECTIONS = 16

/** Bundled, it serves what `BENCH_CONFIG` says. */
export const SERVER = `
import { Readable } from 'node:stream'
import { serve } from './src/tools/serve/serve.ts'
const log = { write: () => {}, writableLength: 0 }
const serving = await serve({ file: '-', cwd: '/', env: {}, stdin: Readable.from([process.env.BENCH_CONFIG]), log,
  version: '0', watch: false, portFor: () => 0, refused: report => { console.error(JSON.stringify(report)); process.exit(1) } })
process.on('message', message => {
  if (message === 'stop') process.exit(0)
  const { user, system } = process.cpuUsage()
  process.send({ cpu: user + system })
})
process.send({ port: [...serving.ports.values()][0], admin: serving.admin })
`

/** The backend that is called. */
export async function upstream() {
  const server = createServer((_, res) => res.end('{"ok":true}'))
  server.keepAliveTimeout = 600_000
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  return {
    address: `127.0.0.1:${server.address().port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** `more`: options of the process. */
export async function start(file, backend, more = {}) {
  const child = fork(file, [], {
    env: { ...process.env, BENCH_CONFIG: config(backend) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    ...more,
  })
  const [{ port, admin }] = await once(child, 'message')
  const cpu = async () => {
    child.send('cpu')
    return (await once(child, 'message'))[0].cpu
  }
  return { child, port, admin, cpu }
}

const HEAD = 'GET /v1/chat HTTP/1.1\r\nhost: gw\r\naccept: */*\r\nuser-agent: bench\r\n\r\n'

/** So many requests over a few connections, one at a time on each. */
export async function load(port, requests) {
  let left = requests
  await Promise.all(
    Array.from(
      { length: CONNECTIONS },
      () =>
        new Promise((done, fail) => {
          const socket = connect(port, '127.0.0.1')
          let open = 0
          const next = () => {
            if (left-- <= 0) {
              socket.end()
              done()
            } else socket.write(HEAD)
          }
          socket.on('connect', next)
          socket.on('error', fail)
          socket.on('data', chunk => {
            // A reply ends with its body; it never comes split here.
            if (chunk.includes('HTTP/1.1 5')) fail(new Error(chunk.toString()))
            open += chunk.toString('latin1').split('{"ok":true}').length - 1
            if (open > 0) {
              open--
              next()
            }
          })
        }),
    ),
  )
}

/** A trace client; `reads`: takes what comes. */
export async function traced({ admin }, query, reads) {
  const sent = request(`http://${admin}/debug/trace?follow=1000${query}`, { method: 'POST' })
  sent.on('error', () => {})
  sent.end()
  const [reply] = await once(sent, 'response')
  if (reads) reply.resume()
  return () => sent.destroy()
}

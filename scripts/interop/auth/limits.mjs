// Envoy's ratelimit service with a Redis behind it.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePorts } from '../api-server.mjs'
import { answers, isInstalled, until } from './place.mjs'

const VERSION = 'v1.4.1-0.20260122083618-3fb702589d36'
const LIMITS = `
domain: gateway
descriptors:
- {key: user, rate_limit: {unit: hour, requests_per_unit: 3}}
- key: pair
  descriptors:
  - {key: method, rate_limit: {unit: hour, requests_per_unit: 1}}
`

export const title = `Envoy’s ratelimit (${VERSION}) with Redis`

export async function needs() {
  return (await isInstalled('redis-server')) ? undefined : 'there is no redis-server (Debian: redis-server)'
}

export async function run(place) {
  const service = await startService(place)
  const to = `backends: [{host: '${await place.backend((_req, res) => res.end('ok'))}'}]`
  const limit = (path, descriptors, more = '') =>
    `{matches: [{path: {exact: ${path}}}], policies: {remoteRateLimit: {host: '127.0.0.1:${service.port}', domain: gateway, descriptors: [${descriptors}]${more}}}, ${to}}`
  const user = more => `{entries: [{key: user, value: 'request.headers["x-user"]'}]${more}}`
  const routes = [
    limit('/user', user('')),
    limit('/cost', user(`, cost: '2'`)),
    limit('/own', user(`, limitOverride: '{"unit": "minute", "requestsPerUnit": 1}'`)),
    limit('/open', user(''), ', failureMode: failOpen'),
    limit('/pair', `{entries: [{key: pair, value: 'request.path'}, {key: method, value: request.method}]}`),
  ].join(',\n')
  const [url, replica] = [await place.gateway('limits', routes), await place.gateway('replica', routes)]
  const ask = (path, who, at = url) => fetch(`${at}${path}`, { headers: { 'x-user': who } })
  const statuses = async (path, who, times, at) => {
    const seen = []
    for (let i = 0; i < times; i++) seen.push((await ask(path, who, at)).status)
    return seen.join()
  }
  return {
    'three requests of a user pass, in whichever replica, the fourth does not, and others go on': async () => {
      const first = await statuses('/user', 'ann', 2)
      const second = await statuses('/user', 'ann', 2, replica)
      return `${first},${second}` === '200,200,200,429' && (await statuses('/user', 'bob', 1)) === '200'
    },
    'replies tell the limit and what is left of it': async () => {
      const reply = await ask('/user', 'cleo')
      const field = name => reply.headers.get(`x-ratelimit-${name}`)
      return field('limit')?.startsWith('3') && field('remaining') === '2' && Number(field('reset')) > 0
    },
    'a request costs what an expression says': async () => (await statuses('/cost', 'dora', 2)) === '200,429',
    'an expression sets the limit': async () => (await statuses('/own', 'emil', 2)) === '200,429',
    'a descriptor of two entries is one': async () => (await statuses('/pair', '', 2)) === '200,429',
    'without the service, requests are refused or pass as the file says': async () => {
      await service.stop()
      return (await statuses('/user', 'fay', 1)) === '500' && (await statuses('/open', 'fay', 1)) === '200'
    },
  }
}

async function startService(place) {
  const socket = join(place.folder, 'redis.sock')
  place.start('redis-server', ['--port', '0', '--unixsocket', socket, '--save', '', '--dir', place.folder], {
    stdio: 'ignore',
  })
  const env = { ...process.env, GOFLAGS: '-mod=mod', GOBIN: place.folder }
  await place.run('go', ['install', `github.com/envoyproxy/ratelimit/src/service_cmd@${VERSION}`], { env })
  await mkdir(join(place.folder, 'runtime/ratelimit/config'), { recursive: true })
  await writeFile(join(place.folder, 'runtime/ratelimit/config/limits.yaml'), LIMITS)
  const [port, health] = await freePorts()
  const [debug] = await freePorts()
  const settings = {
    RUNTIME_ROOT: join(place.folder, 'runtime'),
    RUNTIME_SUBDIRECTORY: 'ratelimit',
    RUNTIME_WATCH_ROOT: 'false',
    REDIS_SOCKET_TYPE: 'unix',
    REDIS_URL: socket,
    USE_STATSD: 'false',
    LOG_LEVEL: 'error',
    HOST: '127.0.0.1',
    GRPC_HOST: '127.0.0.1',
    DEBUG_HOST: '127.0.0.1',
    PORT: String(health),
    GRPC_PORT: String(port),
    DEBUG_PORT: String(debug),
  }
  const { stop } = place.start(join(place.folder, 'service_cmd'), [], {
    env: { ...process.env, ...settings },
    stdio: 'ignore',
  })
  await until(() => answers(`http://127.0.0.1:${health}/healthcheck`), 'ratelimit')
  return { port, stop }
}

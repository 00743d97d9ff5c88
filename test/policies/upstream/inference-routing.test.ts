import { describe, expect, test } from 'vitest'
import { type Plain, type ProcessCall, startEnvoyServices } from '../../helpers/envoy-services.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { startUpstream } from '../../helpers/upstream.ts'
import { pass, streamed } from '../external/ext-proc-fixture.ts'

const HEADER = 'x-gateway-destination-endpoint'
const named = (...endpoints: string[]) => ({
  response: {
    headerMutation: { setHeaders: [{ header: { key: HEADER, rawValue: Buffer.from(endpoints.join(',')) } }] },
  },
})

/** As pickers do: it reads the whole body before it answers the head. */
function picking(choose: (body: string, request: Plain) => string[]) {
  const held = new WeakMap<ProcessCall, { head: Plain; body: string }>()
  return (request: Plain, call: ProcessCall): void => {
    const answer = (head: Plain, body: string): void => {
      call.write({ requestHeaders: named(...choose(body, head)) })
    }
    if (request.requestHeaders) {
      if (request.requestHeaders.endOfStream) answer(request.requestHeaders, '')
      else held.set(call, { head: request.requestHeaders, body: '' })
      return
    }
    const waiting = held.get(call)
    if (!request.requestBody || !waiting) {
      pass(request, call)
      return
    }
    waiting.body += String(request.requestBody.body ?? '')
    if (!request.requestBody.endOfStream) return
    answer(waiting.head, waiting.body)
    call.write({ requestBody: streamed({ body: waiting.body, endOfStream: true }) })
  }
}

async function pool(choose: (body: string, request: Plain, pods: string[]) => string[], mode = 'validated') {
  const pods = await Promise.all(
    ['a', 'b'].map(name =>
      startUpstream((req, res) => {
        let body = ''
        req.on('data', chunk => {
          body += chunk
        })
        req.on('end', () => res.end(`${name}: ${body}`))
      }),
    ),
  )
  const hosts = pods.map(({ host }) => host)
  const picker = await startEnvoyServices({ process: picking((body, request) => choose(body, request, hosts)) })
  const gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{backends: [{service: {name: ns/pool.test, port: 80}, policies: {
  inferenceRouting: {endpointPicker: {host: '${picker.host}'}, destinationMode: ${mode}}}}]}]}]}]
services: [{name: pool, namespace: ns, hostname: pool.test, vips: [], ports: {'80': 80}}]
workloads: [${hosts.map(host => `{workloadIps: [127.0.0.1], namespace: ns, services: {ns/pool.test: {'80': ${host.split(':')[1]}}}}`)}]`)
  return {
    picker,
    gateway,
    hosts,
    ask: (init: RequestInit = {}) => fetch(gateway.url(8080), init),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await picker[Symbol.asyncDispose]()
      for (const pod of pods) await pod[Symbol.asyncDispose]()
    },
  }
}

describe('an endpoint picker', () => {
  test('gets the request body, selects the endpoint and sees the response', async () => {
    await using it = await pool((body, _, [a, b]) => [body === 'to b' ? b! : a!])
    expect(await (await it.ask({ method: 'POST', body: 'to b' })).text()).toBe('b: to b')
    expect(await (await it.ask({ method: 'POST', body: 'to a' })).text()).toBe('a: to a')
    expect(await (await it.ask()).text()).toBe('a: ')
    expect(it.picker.asked.filter(each => each.responseHeaders)).toHaveLength(3)
  })

  test('can name fallbacks for an unreachable endpoint', async () => {
    await using it = await pool((_, __, [, b]) => ['127.0.0.1:1', b!], 'passthrough')
    expect(await (await it.ask({ method: 'POST', body: 'x' })).text()).toBe('b: x')
  })

  test('cannot be overridden by a client header', async () => {
    await using it = await pool((_, request, [a, b]) => {
      const sent = JSON.stringify(request.headers.headers.map(({ key }: Plain) => key))
      return [sent.includes(HEADER) ? b! : a!]
    })
    expect(await (await it.ask({ headers: { [HEADER]: it.hosts[1]! } })).text()).toBe('a: ')
  })

  test.each([
    ['an address that is not an endpoint', 'validated', ['127.0.0.1:1'], 403],
    ['nothing', 'passthrough', [], 503],
    ['a Unix socket', 'passthrough', ['unix:/run/docker.sock'], 403],
  ])('that returns %s', async (_, mode, choice, status) => {
    await using it = await pool(() => choice, mode)
    expect((await it.ask()).status).toBe(status)
  })

  test('that is unreachable fails the request', async () => {
    await using it = await pool((_, __, [a]) => [a!])
    await it.picker[Symbol.asyncDispose]()
    expect((await it.ask()).status).toBe(500)
  })

  test('is only supported on a service', async () => {
    const text = `
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: 'a.test:80', policies: {
  inferenceRouting: {endpointPicker: {host: 'picker.test:9002'}}}}]}]}]}]`
    await expect(startGateway(text)).rejects.toThrow('`inferenceRouting` is not served on a backend of kind `host`')
  })
})

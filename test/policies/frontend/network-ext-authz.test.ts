import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { startGateway } from '../../helpers/gateway.ts'
import { echo, rawRequest, startUpstream } from '../../helpers/upstream.ts'

const REQUEST = 'GET / HTTP/1.1\r\nhost: a\r\nx-user: root\r\n'
const TWICE = `${REQUEST}\r\n${REQUEST}connection: close\r\n\r\n`

async function start(answer: (req: IncomingMessage, res: ServerResponse) => void, http = '', more = '', host?: string) {
  const asked: string[] = []
  const service = await startUpstream((req, res) => {
    let body = ''
    req.on('data', chunk => {
      body += chunk
    })
    req.on('end', () => {
      asked.push([req.method, req.url, req.headers['x-from'], body].join(' '))
      answer(req, res)
    })
  })
  const backend = await startUpstream(echo)
  const gateway = await startGateway(`
frontendPolicies: {networkExtAuthz: {host: '${host ?? service.host}', protocol: {http: {${http}}}${more}}}
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '${backend.host}'}],
  policies: {transformations: {request: {set: {x-team: extauthz.team}}}}}]}]}]`)
  return {
    asked,
    send: () => rawRequest(gateway.url(8080), TWICE),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await service[Symbol.asyncDispose]()
      await backend[Symbol.asyncDispose]()
    },
  }
}

test('the service is called once per connection, and its result applies to every request', async () => {
  await using at = await start((_req, res) => {
    res.setHeader('x-user', 'ann')
    res.end()
  }, `path: '"/in"', addRequestHeaders: {x-from: source.address}, includeResponseHeaders: [x-user], metadata: {team: '"red"'}`)
  const answers = await at.send()
  expect(at.asked).toEqual(['GET /in 127.0.0.1 '])
  expect(answers.match(/HTTP\/1\.1 200/g)?.length).toBe(2)
  expect(answers.match(/"x-user","ann"/g)?.length).toBe(2)
  expect(answers.match(/"x-team","red"/g)?.length).toBe(2)
  expect(answers).not.toContain('root')
})

test('a configured body is sent with POST', async () => {
  await using at = await start((_req, res) => res.end(), `body: '{"ip": source.address}'`)
  await at.send()
  expect(at.asked).toEqual(['POST /  {"ip":"127.0.0.1"}'])
})

const closes = (res: ServerResponse, status: number) => {
  res.statusCode = status
  res.end()
}

test.each([
  [403, ''],
  [403, ', failureMode: allow'],
  [500, ', failureMode: allow'],
  [204, ', failureMode: allow'],
])('a response of %i closes the connection%s', async (status, more) => {
  await using at = await start((_req, res) => closes(res, status), '', more)
  expect(await at.send()).toBe('')
  expect(at.asked.length).toBe(1)
})

test.each([
  [', failureMode: deny', false],
  [', failureMode: {denyWithStatus: 503}', false],
  [', failureMode: allow', true],
])('an unreachable service%s', async (more, passes) => {
  await using at = await start((_req, res) => res.end(), '', more, '127.0.0.1:1')
  expect((await at.send()).startsWith('HTTP/1.1 200')).toBe(passes)
})

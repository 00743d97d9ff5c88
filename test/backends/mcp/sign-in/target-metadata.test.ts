import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { startGateway } from '../../../helpers/gateway.ts'
import { startUpstream } from '../../../helpers/upstream.ts'

const PRM = '/.well-known/oauth-protected-resource'
const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
})

/** A server that wants tokens; `document`: where it says what it is. */
async function start(document: string, targets = 1, challenge = '') {
  const asked: { readonly path: string; readonly authorization: string | undefined }[] = []
  const server = await startUpstream((req: IncomingMessage, res: ServerResponse) => {
    const { url = '', method } = req
    asked.push({ path: `${method} ${url}`, authorization: req.headers.authorization })
    const own = `http://${req.headers.host}`
    if (url === document)
      return void res.end(JSON.stringify({ resource: `${own}/up`, authorization_servers: [own], x: 1 }))
    if (url.startsWith('/.well-known/oauth-authorization-server')) return void res.end(JSON.stringify({ issuer: own }))
    if (method === 'GET') return void res.writeHead(404).end('none')
    const named = challenge || `Bearer error="invalid_token", resource_metadata="${own}${document}", scope="a b"`
    res.writeHead(401, { 'www-authenticate': named }).end('{"error":"invalid_token"}')
  })
  const list = Array.from({ length: targets }, (_, i) => `{name: t${i}, mcp: {host: 'http://${server.host}/up'}}`)
  const gateway = await startGateway(
    `binds: [{port: 8080, listeners: [{routes: [{backends: [{mcp: {targets: [${list.join()}]}}]}]}]}]`,
  )
  const base = gateway.url(8080)
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  return {
    asked,
    base,
    server,
    post: () =>
      fetch(`${base}/mcp`, { method: 'POST', body: INITIALIZE, headers: { ...headers, authorization: 'Bearer t' } }),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

test.each([`${PRM}/up`, '/custom/metadata.json?v=1'])(
  'a target that wants tokens says so through the gateway (%s)',
  async document => {
    await using at = await start(document)
    const refused = await at.post()
    expect([refused.status, await refused.text()]).toEqual([401, '{"error":"invalid_token"}'])
    expect(refused.headers.get('www-authenticate')).toBe(
      `Bearer error="invalid_token", resource_metadata="${at.base}${PRM}/mcp", scope="a b"`,
    )
    expect(at.asked[0]?.authorization).toBe('Bearer t')
    const found = await fetch(`${at.base}${PRM}/mcp`)
    const own = `http://${at.server.host}`
    expect(await found.json()).toEqual({ resource: `${at.base}/mcp`, authorization_servers: [own], x: 1 })
    expect(at.asked.at(-1)?.path).toBe(`GET ${document}`)
  },
)

test('what the target does not have is not there', async () => {
  await using at = await start(`${PRM}/up`)
  expect((await fetch(`${at.base}${PRM}`)).status).toBe(404)
  expect(at.asked.at(-1)?.path).toBe(`GET ${PRM}`)
  const server = await fetch(`${at.base}/.well-known/oauth-authorization-server/x?y=1`)
  expect(await server.json()).toEqual({ issuer: `http://${at.server.host}` })
  expect(at.asked.at(-1)?.path).toBe('GET /.well-known/oauth-authorization-server/x?y=1')
  expect((await fetch(`${at.base}/mcp`, { headers: { accept: 'text/event-stream' } })).status).toBe(400)
})

test('a document of somebody else stays as it is named', async () => {
  const challenge = 'Bearer resource_metadata="https://other.example/doc"'
  await using at = await start(`${PRM}/up`, 1, challenge)
  expect((await at.post()).headers.get('www-authenticate')).toBe(challenge)
  await using odd = await start(`${PRM}/up`, 1, 'Bearer resource_metadata="not a url"')
  expect((await odd.post()).status).toBe(401)
})

test('several targets have no document in common', async () => {
  await using at = await start(`${PRM}/up`, 2)
  expect((await fetch(`${at.base}${PRM}/mcp`)).status).not.toBe(200)
})

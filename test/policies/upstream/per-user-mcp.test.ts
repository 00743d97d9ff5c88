import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openDryGateway } from '../../../src/tools/dry-run/dry-run.ts'
import { createSigner, keySet, NOW } from '../../auth/token-fixture.ts'
import { startScript } from '../../backends/mcp/scripted-server.ts'
import { ManualClock } from '../../engine/manual-clock.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { sendToken, startTokenServer } from '../../helpers/token-server.ts'

const config = (mcp: string, tokens: string) => `
mcp:
  port: 8080
  targets: [{name: files, mcp: {host: '${mcp}'}, policies: {backendAuth: {oauthTokenExchange: {host: '${tokens}'}}}}]
  policies: {jwtAuth: {issuer: https://issuer.example, jwks: {file: jwks.json}}}`

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const INITIALIZE = {
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
}

test('each MCP call uses the caller’s own token, and sessions never share tokens between users', async () => {
  const signer = await createSigner('k', 'ES256')
  const subjects = new Map<string, string>()
  for (const sub of ['ann', 'bob']) subjects.set(await signer.sign({ sub }), sub)
  await using tokens = await startTokenServer()
  tokens.answer = ({ form }, res) =>
    sendToken(res, { access_token: `for-${subjects.get(form.get('subject_token') ?? '')}` })
  const seen: string[] = []
  const files = await startScript((rpc, _res, req) => {
    const who = (rpc.params?.arguments as { who?: string } | undefined)?.who
    seen.push(`${rpc.method ?? req.method} ${who ?? ''} ${req.headers.authorization}`)
    return rpc.method === 'tools/call' ? { content: [{ type: 'text', text: `${req.headers.authorization}` }] } : {}
  })
  await using gateway = await startGateway(config(files.url, tokens.host), {
    files: { 'jwks.json': keySet(signer) },
    clock: new ManualClock(NOW * 1000),
  })
  const send = async (token: string, message: object, session?: string) => {
    const headers = { ...HEADERS, authorization: `Bearer ${token}`, ...(session && { 'mcp-session-id': session }) }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })
    const reply = await fetch(`${gateway.url(8080)}/mcp`, { method: 'POST', headers, body })
    return { status: reply.status, session: reply.headers.get('mcp-session-id') ?? '', text: await reply.text() }
  }
  const call = (who: string) => ({ method: 'tools/call', params: { name: 'read', arguments: { who } } })
  const sessions = new Map<string, string>()
  for (const [token, sub] of subjects) sessions.set(sub, (await send(token, INITIALIZE)).session)
  const both = [...subjects]
  const calls = Array.from({ length: 20 }, async (_, i) => {
    const [token, sub] = both[i % 2] as [string, string]
    const { text } = await send(token, call(sub), sessions.get(sub))
    expect(text).toContain(`Bearer for-${sub}`)
  })
  await Promise.all(calls)
  // Whoever learns the id of a session has no use for it.
  const [[ann = ''] = [], [bob = ''] = []] = both
  const before = seen.length
  expect((await send(bob, call('bob'), sessions.get('ann'))).status).toBeGreaterThanOrEqual(400)
  expect((await send(ann, call('ann'), sessions.get('bob'))).status).toBeGreaterThanOrEqual(400)
  expect(seen).toHaveLength(before)
  expect(tokens.asked).toHaveLength(2)
  expect(new Set(seen.filter(line => line.startsWith('tools/call')))).toEqual(
    new Set(['tools/call ann Bearer for-ann', 'tools/call bob Bearer for-bob']),
  )
  await files.close()
})

test('a dry run shows whose token an MCP target gets', async () => {
  const text = config('http://files.test/mcp', 'tokens.test:80').replace('{file: jwks.json}', `'{"keys":[]}'`)
  const gateway = await openDryGateway('-', { cwd: '/', stdin: Readable.from([text]), env: {} })
  for (const sub of ['ann', 'bob']) {
    const { upstream } = await gateway.run({
      method: 'POST',
      url: 'http://gw.test:8080/mcp',
      headers: Object.entries(HEADERS),
      jwt: { sub },
      body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...INITIALIZE })),
    })
    const sent = upstream.filter(({ purpose }) => purpose === 'backend').map(({ headers }) => headers)
    expect(sent.length).toBeGreaterThan(0)
    for (const headers of sent) expect(headers).toContainEqual(['authorization', `Bearer token-of-${sub}`])
  }
})

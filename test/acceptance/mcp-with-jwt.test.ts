import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { beforeAll, describe, expect, test } from 'vitest'
import { createSigner, keySet, NOW, type Signer } from '../auth/token-fixture.ts'
import { startSdkServer } from '../backends/mcp/sdk-server.ts'
import { startGateway } from '../helpers/gateway.ts'

let signer: Signer
beforeAll(async () => {
  signer = await createSigner('key-1', 'ES256')
})

const EVERYTHING = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'
const clock = {
  now: () => NOW * 1000,
  mono: () => performance.now(),
  after: (ms: number, then: () => void) => {
    const timer = setTimeout(then, ms)
    return { cancel: () => clearTimeout(timer) }
  },
}

const file = (targets: string) => `
binds:
- port: 8080
  listeners:
  - routes:
    - matches: [{path: {pathPrefix: /mcp}}]
      policies:
        cors: {allowOrigins: ['*'], allowHeaders: ['*'], exposeHeaders: [mcp-session-id]}
        jwtAuth:
          issuer: https://issuer.example
          audiences: [gateway]
          jwks: {file: keys.json}
        mcpAuthorization:
          rules:
          - mcp.tool.name == "echo"
          - mcp.tool.name == "get-sum" && jwt.sub == "alice"
          - mcp.tool.name == "get-env" && "admin" in jwt.roles
          - mcp.tool.name == "get-tiny-image" && jwt.nested.team == "pictures"
          - mcp.tool.name == "secret" && jwt.email.endsWith("@example.com")
      backends:
      - mcp: {targets: [${targets}]}
`

describe('an MCP client of a route with JWT authentication', () => {
  test.each([
    [{ sub: 'bob', roles: [] }, ['echo']],
    [{ sub: 'alice', roles: [] }, ['echo', 'get-sum']],
    [{ sub: 'bob', roles: ['admin'] }, ['echo', 'get-env']],
    [{ sub: 'bob', roles: [], nested: { team: 'pictures' } }, ['echo', 'get-tiny-image']],
  ])('with claims %j sees exactly the tools %j', async (claims, tools) => {
    await using gateway = await startGateway(
      file(`{name: everything, stdio: {cmd: node, args: [${EVERYTHING}, stdio]}}`),
      { files: { 'keys.json': keySet(signer) }, clock },
    )
    await using client = await connect(gateway.url(8080), await signer.sign({ aud: 'gateway', ...claims }))
    expect((await client.listTools()).tools.map(tool => tool.name).sort()).toEqual(tools)
    const answer = await client.callTool({ name: 'echo', arguments: { message: 'hi' } })
    expect(JSON.stringify(answer.content)).toContain('hi')
    if (!tools.includes('get-env')) {
      await expect(client.callTool({ name: 'get-env', arguments: {} })).rejects.toThrow(/Unknown tool: get-env/)
    }
  })

  test('is refused without a token, with a wrong audience or a foreign key before any server starts', async () => {
    await using gateway = await startGateway(file('{name: never, stdio: {cmd: /does/not/exist}}'), {
      files: { 'keys.json': keySet(signer) },
      clock,
    })
    const stranger = await createSigner('key-1', 'ES256')
    const tokens = [
      undefined,
      await signer.sign({ aud: 'other' }),
      await stranger.sign({ aud: 'gateway' }),
      await signer.sign({ aud: 'gateway', exp: NOW - 3600 }),
    ]
    for (const token of tokens)
      await expect(connect(gateway.url(8080), token)).rejects.toThrow(/401|authentication failure/)
    expect(gateway.logged.join('')).not.toContain(tokens[1])
  })

  test('two targets with the same tool name both answer', async () => {
    const one = await startSdkServer('one')
    const two = await startSdkServer('two')
    await using gateway = await startGateway(
      file(`{name: one, mcp: {host: '${one.url}'}}, {name: two, mcp: {host: '${two.url}'}}`),
      { files: { 'keys.json': keySet(signer) }, clock },
    )
    await using client = await connect(
      gateway.url(8080),
      await signer.sign({ aud: 'gateway', sub: 'x', roles: [], email: 'x@example.com' }),
    )
    expect((await client.listTools()).tools.map(tool => tool.name)).toEqual([
      'one_echo',
      'one_secret',
      'two_echo',
      'two_secret',
    ])
    const answers = await Promise.all(
      ['one_echo', 'two_echo'].map(name => client.callTool({ name, arguments: { text: 'hi' } })),
    )
    expect(answers.map(a => JSON.stringify(a.content))).toEqual([
      expect.stringContaining('one: hi'),
      expect.stringContaining('two: hi'),
    ])
    await one.close()
    await two.close()
  })
})

async function connect(url: string, token: string | undefined) {
  const client = new Client({ name: 'test', version: '1' })
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}

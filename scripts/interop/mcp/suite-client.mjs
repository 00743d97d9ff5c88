// A client for the servers of the conformance suite: it does what each scenario asks for, with the public SDK, at the
// address that it is given, or (GATEWAY=1) through a gateway in front of it. The suite starts it once per scenario.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { freePort } from '../../soak/gateway-process.mjs'

const NEWEST = '2026-07-28'
const CALLBACK = 'http://localhost:3000/callback'
const CIMD = 'https://conformance-test.local/client-metadata.json'
const { MCP_LAB, MCP_CONFORMANCE_CONTEXT = '{}', MCP_CONFORMANCE_PROTOCOL_VERSION, GATEWAY } = process.env
const context = JSON.parse(MCP_CONFORMANCE_CONTEXT)
const sdk = await import(pathToFileURL(createRequire(`${MCP_LAB}/`).resolve('@modelcontextprotocol/client')))

async function main(server) {
  const gateway = GATEWAY === undefined ? undefined : await startGateway(server)
  const url = new URL(gateway?.url ?? server)
  try {
    await use(url)
  } finally {
    gateway?.stop()
  }
}

async function use(url) {
  const mode = MCP_CONFORMANCE_PROTOCOL_VERSION === NEWEST ? { pin: NEWEST } : 'legacy'
  const client = new sdk.Client(
    { name: 'suite-client', version: '1' },
    { capabilities: { elicitation: { form: { applyDefaults: true } } }, versionNegotiation: { mode } },
  )
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { confirmed: true } }))
  await client.connect(new sdk.StreamableHTTPClientTransport(url, { fetch: signingIn(url) }))
  const can = client.getServerCapabilities() ?? {}
  const { tools } = await client.listTools()
  const calls = context.toolCalls ?? tools.map(({ name }) => ({ name, arguments: argumentsOf(name) }))
  for (const call of calls) await client.callTool(call)
  if (can.resources) {
    const { resources } = await client.listResources()
    for (const { uri } of resources.slice(0, 1)) await client.readResource({ uri })
  }
  if (can.prompts) {
    const { prompts } = await client.listPrompts()
    for (const { name } of prompts.slice(0, 1)) await client.getPrompt({ name })
  }
  await client.close()
}

function argumentsOf(tool) {
  return tool === 'add_numbers' ? { a: 5, b: 3 } : {}
}

/** Signs in where it is told to, and once more where a scope is missing. */
function signingIn(serverUrl) {
  const provider = new Provider()
  return async (input, init) => {
    const ask = () => {
      const headers = new Headers(init?.headers)
      if (provider.known) headers.set('authorization', `Bearer ${provider.known.access_token}`)
      return fetch(input, { ...init, headers })
    }
    const response = await ask()
    if (response.status !== 401 && response.status !== 403) return response
    const { resourceMetadataUrl, scope: asked } = sdk.extractWWWAuthenticateParams(response)
    const scope = asked && [...new Set([...provider.scopes, ...asked.split(' ')])].join(' ')
    provider.scopes = scope?.split(' ') ?? []
    const about = { serverUrl, resourceMetadataUrl, scope, fetchFn: fetch }
    if ((await sdk.auth(provider, about)) === 'REDIRECT') await sdk.auth(provider, { ...about, ...provider.redirected })
    const again = await ask()
    if (again.status === 401 || again.status === 403) throw new Error(`still ${again.status} after signing in`)
    return again
  }
}

/** A user who agrees to everything. */
class Provider {
  redirectUrl = CALLBACK
  clientMetadata = { client_name: 'suite-client', redirect_uris: [CALLBACK], application_type: 'native' }
  clientMetadataUrl = CIMD
  known
  scopes = []
  #client =
    context.client_id === undefined ? undefined : { client_id: context.client_id, client_secret: context.client_secret }
  #verifier

  clientInformation = () => this.#client
  saveClientInformation(client) {
    this.#client = client
  }
  tokens = () => this.known
  saveTokens(tokens) {
    this.known = tokens
  }
  codeVerifier = () => this.#verifier
  saveCodeVerifier(verifier) {
    this.#verifier = verifier
  }
  async redirectToAuthorization(url) {
    const location = (await fetch(url, { redirect: 'manual' })).headers.get('location')
    const { searchParams } = new URL(location)
    const iss = searchParams.get('iss')
    this.redirected = { authorizationCode: searchParams.get('code'), ...(iss === null ? {} : { iss }) }
  }
  invalidateCredentials(what) {
    if (what === 'all' || what === 'client') this.#client = undefined
    if (what === 'all' || what === 'tokens') this.known = undefined
  }
}

async function startGateway(server) {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'gwctl-suite-'))
  const { pathname, origin } = new URL(server)
  const targets = [{ name: 'suite', mcp: { host: origin + pathname } }]
  const config = {
    config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' },
    binds: [{ port, listeners: [{ routes: [{ backends: [{ mcp: { targets } }] }] }] }],
  }
  writeFileSync(join(folder, 'gateway.yaml'), JSON.stringify(config))
  const bin = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))
  const child = spawn(process.execPath, [bin, 'run', '-f', join(folder, 'gateway.yaml')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = once(child, 'exit').then(() => 'gone')
  for (;;) {
    const answer = await fetch(`http://localhost:${port}/`).catch(() => undefined)
    if (answer) break
    if ((await Promise.race([exited, new Promise(resolve => setTimeout(resolve, 25))])) === 'gone')
      throw new Error('the gateway has not started')
  }
  return {
    url: `http://localhost:${port}${pathname}`,
    stop() {
      child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

await main(process.argv[2])
process.exit()

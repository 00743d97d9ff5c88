// Users who sign in at an MCP target with oidc-provider, through the gateway, which registers there.
import { createHash } from 'node:crypto'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePorts } from '../api-server.mjs'
import { Client } from './client.mjs'
import { answers, until } from './place.mjs'
import { VERSION } from './sign-in.mjs'

export const title = `users of MCP targets at oidc-provider ${VERSION}`

const USERS = ['ann', 'ben']

export async function run(place) {
  const { url, issuer } = await start(place)
  const users = Object.fromEntries(USERS.map(name => [name, new User(name, url)]))
  return {
    'a user signs in at a target, where the gateway has registered itself': async () => {
      const { ann } = users
      const before = await ann.call('sign_in_to_files')
      await ann.signIn(/http:\S+/.exec(before)[0], 'ann at files')
      return (await ann.call('whoami')) === 'ann at files'
    },
    'nobody else is given that token': async () => {
      const { ann, ben } = users
      const asked = await ben.call('whoami')
      const foreign = await ann.open(/http:\S+/.exec(asked)[0])
      await ben.signIn(/http:\S+/.exec(await ben.call('whoami'))[0], 'ben at files')
      const said = await Promise.all([ann, ben, ann, ben].map(user => user.call('whoami')))
      const own = ['ann at files', 'ben at files', 'ann at files', 'ben at files']
      return foreign.status === 403 && JSON.stringify(said) === JSON.stringify(own)
    },
    'tokens that end are refreshed': async () => {
      await new Promise(done => setTimeout(done, 4000))
      const said = await Promise.all(USERS.map(name => users[name].call('whoami')))
      const refreshes = await (await fetch(`${issuer}/refreshes`)).text()
      return said.join() === 'ann at files,ben at files' && Number(refreshes) >= 2
    },
  }
}

async function start(place) {
  await place.run('npm', ['install', '--no-audit', '--no-fund', '--prefix', place.folder, `oidc-provider@${VERSION}`])
  await copyFile(fileURLToPath(new URL('mcp-provider.mjs', import.meta.url)), join(place.folder, 'mcp-provider.mjs'))
  const [port] = await freePorts()
  const issuer = `http://127.0.0.1:${port}`
  place.start(process.execPath, ['mcp-provider.mjs', String(port)], { stdio: 'ignore' })
  await until(() => answers(`${issuer}/.well-known/openid-configuration`), 'oidc-provider')
  const hash = createHash('sha1').update('secret').digest('base64')
  const htpasswd = USERS.map(name => `${name}:{SHA}${hash}`).join('\\n')
  const url = await place.gateway(
    'mcp-sign-in',
    at => `{policies: {basicAuth: {htpasswd: "${htpasswd}"}}, backends: [{mcp: {targets: [
      {name: files, mcp: {host: '${issuer}/mcp'}, signIn: {redirectURI: '${at}/sign-in'}}]}}]}`,
  )
  return { url, issuer }
}

/** A user of the gateway: an MCP client, and a browser. */
class User {
  #headers
  #browser
  #url
  #session
  #serial = 0

  constructor(name, url) {
    const authorization = `Basic ${Buffer.from(`${name}:secret`).toString('base64')}`
    this.#headers = { authorization, 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    this.#browser = new Client({ [url]: { authorization } })
    this.#url = url
  }

  /** The text of a tool's result. */
  async call(name) {
    const info = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'interop', version: '1' } }
    this.#session ??= (await this.#send('initialize', info)).headers.get('mcp-session-id')
    const reply = await (await this.#send('tools/call', { name, arguments: {} })).text()
    const messages = [...reply.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data))
    return (messages.at(-1) ?? JSON.parse(reply)).result?.content?.[0]?.text ?? reply
  }

  open(link) {
    return this.#browser.open(link)
  }

  async signIn(link, account) {
    const page = await this.#browser.submit(await this.#browser.open(link), {})
    const consent = await this.#browser.submit(page, { login: account, password: 'x' })
    const done = await this.#browser.submit(consent, {})
    if (!done.text.includes('You have signed in')) throw new Error(`${done.status} ${done.url}`)
  }

  #send(method, params) {
    const session = this.#session === undefined ? {} : { 'mcp-session-id': this.#session }
    const body = JSON.stringify({ jsonrpc: '2.0', id: ++this.#serial, method, params })
    return fetch(`${this.#url}/mcp`, { method: 'POST', headers: { ...this.#headers, ...session }, body })
  }
}

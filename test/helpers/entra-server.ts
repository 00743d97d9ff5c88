import type { IncomingMessage } from 'node:http'
import { startUpstream } from './upstream.ts'

export interface EntraServer extends AsyncDisposable {
  readonly host: string
  /** One line for each question that was in order. */
  readonly asked: string[]
  /** s. */
  life: number
  /** In place of what the services say. */
  answer: ((res: import('node:http').ServerResponse) => void) | undefined
}

/** Entra ID's token endpoint and the endpoints of managed identities, by their documentation; each token says whose it is. */
export async function startEntraServer(): Promise<EntraServer> {
  const asked: string[] = []
  const upstream = await startUpstream(async (req, res) => {
    const body = await textOf(req)
    if (entra.answer) return entra.answer(res)
    try {
      const { line, reply } = answerTo(req, body, entra)
      asked.push(line)
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
    } catch (error) {
      res.writeHead(400, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ error: 'invalid_request', error_description: String(error) }))
    }
  })
  const entra: EntraServer = {
    host: upstream.host,
    asked,
    life: 3600,
    answer: undefined,
    [Symbol.asyncDispose]: () => upstream[Symbol.asyncDispose](),
  }
  return entra
}

function answerTo(req: IncomingMessage, body: string, { life }: EntraServer) {
  const { pathname, searchParams } = new URL(req.url ?? '/', 'http://entra.test')
  if (req.method === 'GET') {
    const query = Object.fromEntries(searchParams)
    const { 'api-version': version, resource, ...user } = query
    must(resource?.startsWith('https://') === true && !resource.endsWith('/.default'), 'resource')
    const whose = `${resource} ${JSON.stringify(user)}`
    if (pathname === '/metadata/identity/oauth2/token') {
      must(req.headers.metadata === 'true' && version === '2018-02-01', 'not for the instance')
      const reply = { access_token: 'instance-token', expires_in: String(life), expires_on: '0', token_type: 'Bearer' }
      return { line: `instance ${whose}`, reply }
    }
    must(req.headers['x-identity-header'] === 'pass' && version === '2019-08-01', 'not for the app')
    const expires_on = String(Math.floor(Date.now() / 1000) + life)
    return { line: `app ${whose}`, reply: { access_token: 'app-token', expires_on, token_type: 'Bearer' } }
  }
  const tenant = /^\/([^/]+)\/oauth2\/v2\.0\/token$/.exec(pathname)?.[1]
  must(tenant !== undefined && req.headers['content-type'] === 'application/x-www-form-urlencoded', 'not a form')
  const form = Object.fromEntries(new URLSearchParams(body))
  must(form.scope?.endsWith('/.default') === true, 'scope')
  const line = `${tenant} ${form.client_id} ${form.scope}`
  const token = (access_token: string) => ({
    access_token,
    expires_in: life,
    ext_expires_in: life,
    token_type: 'Bearer',
  })
  if (form.grant_type === 'refresh_token') {
    must(form.refresh_token === 'refresh-me', 'not a login')
    return { line, reply: token('developer-token') }
  }
  must(form.grant_type === 'client_credentials', 'grant')
  if (form.client_assertion !== undefined) {
    must(form.client_assertion_type === 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer', 'assertion type')
    must(form.client_assertion === 'the.projected.token', 'assertion')
    return { line, reply: token('workload-token') }
  }
  must(form.client_secret === 'app+secret', 'secret')
  return { line, reply: token('secret-token') }
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}

async function textOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

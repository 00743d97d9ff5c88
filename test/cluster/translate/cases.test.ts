import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer as createTlsServer, request as requestTls } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { renderTranslation } from '../../../src/tools/input/translate-resources.ts'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { startUpstream, type Upstream } from '../../helpers/upstream.ts'
import { statusLines, translated } from './translate.ts'

/**
 * Each file holds resources and says in comments what they come to:
 *   # probe GET http://host:8080/path [name: value; …] {body} => 200 [path=/x] [at=9001] [req.name=value] [res.name=value]
 *   # probe GET https://host:8443/path => refused
 *   # status HTTPRoute default/app: Accepted=False NoMatchingParent
 *   # loss GW602 part of the message
 *   # finding GW204 GW209
 */
const folder = new URL('../../../fixtures/translate/cases/', import.meta.url)
const files = readdirSync(folder).sort()
/** Stand-ins for the ports of endpoints; the last speaks TLS. */
const PORTS = ['9001', '9002', '9003', '9004']
const TLS_PORT = '9005'
const upstreams = new Map<string, Pick<Upstream, 'host'> & AsyncDisposable>()

beforeAll(async () => {
  for (const port of PORTS) {
    const upstream = await startUpstream((req, res) => {
      res.writeHead(200, { 'x-upstream': port, 'content-type': 'application/json' })
      res.end(JSON.stringify({ path: req.url, headers: req.headers }))
    })
    upstreams.set(port, upstream)
  }
  upstreams.set(TLS_PORT, await startTlsUpstream())
})
afterAll(async () => {
  for (const upstream of upstreams.values()) await upstream[Symbol.asyncDispose]()
})

async function startTlsUpstream() {
  const { cert, key } = createCertificate(createAuthority('upstream'), ['pass.example.com'])
  const server = createTlsServer({ cert, key }, (_req, res) => res.writeHead(200, { 'x-upstream': TLS_PORT }).end('{}'))
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
}

const expectations = (text: string, kind: string): string[] =>
  text.split('\n').flatMap(line => (line.startsWith(`# ${kind} `) ? line.slice(kind.length + 3).trim() : []))

describe.each(files)('%s', file => {
  const text = readFileSync(new URL(file, folder), 'utf8')

  test('has the expected statuses, losses and findings', async () => {
    const made = await translated({ [file]: text }, { filesDir: 'files' })
    const have = statusLines(made).map(row => row.replace(/\s+/g, ' '))
    for (const line of expectations(text, 'status')) {
      const [, resource, condition, reason] = /^(.*): (\S+) (\S+)$/.exec(line)!
      expect(
        have.some(row => row.startsWith(`${resource} `) && row.includes(` ${condition} ${reason}`)),
        `${line}\n${have.join('\n')}`,
      ).toBe(true)
    }
    const losses = made.losses.map(({ code, message }) => `${code} ${message}`)
    for (const line of expectations(text, 'loss')) {
      const [code, ...words] = line.split(' ')
      const found = losses.some(loss => loss.startsWith(code!) && loss.includes(words.join(' ')))
      expect(found, `${line}\n${losses.join('\n')}`).toBe(true)
    }
    if (expectations(text, 'loss').length === 0) expect(losses).toEqual([])
    const errors = made.diagnostics.filter(({ severity }) => severity === 'error').map(({ code }) => code)
    const wanted = expectations(text, 'finding').flatMap(line => line.split(' '))
    expect([...new Set(errors)].sort()).toEqual(wanted.sort())
  })

  test.runIf(expectations(text, 'probe').length > 0)('answers requests as expected', async () => {
    const made = await translated({ [file]: text }, { filesDir: 'files' })
    const written = renderTranslation(made, 'yaml', true).replace(
      /127\.0\.0\.1:(900\d)\b/g,
      (all, port: string) => upstreams.get(port)?.host ?? all,
    )
    const data = Object.fromEntries([...made.finished.work.files].map(([path, { bytes }]) => [path, bytes.toString()]))
    await using gateway = await startGateway(written, { files: data })
    for (const probe of expectations(text, 'probe')) {
      const form = /^(\S+) (\S+)(?: \[(.*?)\])?(?: (\{.*\}))? => (refused|\d+)(?: (.*))?$/
      const [, method, url, headers, body, status, wanted] = form.exec(probe)!
      const { port } = new URL(url!)
      const to = {
        method: method!,
        port: new URL(gateway.url(Number(port || 80))).port,
        url: new URL(url!),
        headers,
        body,
      }
      const reply = await send(to).catch(() => undefined)
      expect(`${probe} ${reply?.status ?? 'refused'}`).toBe(`${probe} ${status}`)
      if (!reply) continue
      for (const part of wanted?.split(' ') ?? []) {
        const [key, ...rest] = part.split('=')
        expect(`${key}=${String(reply.seen(key!))}`, probe).toBe(`${key}=${rest.join('=')}`)
      }
    }
  })
})

interface Reply {
  readonly status: number
  seen(key: string): unknown
}

interface Request {
  readonly method: string
  readonly port: string
  /** As the client names it. */
  readonly url: URL
  readonly headers: string | undefined
  readonly body: string | undefined
}

function send({ method, port, url, headers = '', body }: Request): Promise<Reply> {
  const host = url.hostname
  const fields = Object.fromEntries(
    headers
      .split(';')
      .filter(Boolean)
      .map(each => {
        const [name, ...value] = each.split(':')
        return [name!.trim(), value.join(':').trim()]
      }),
  )
  const path = `${url.pathname}${url.search}`
  const all = { host: '127.0.0.1', port, method, path, headers: { host, ...fields }, agent: false as const }
  return new Promise((done, fail) => {
    const secure = { servername: host, rejectUnauthorized: false }
    const call = url.protocol === 'https:' ? requestTls({ ...all, ...secure }) : request(all)
    call.on('response', res => {
      let body = ''
      res.on('data', chunk => {
        body += String(chunk)
      })
      res.on('end', () => {
        done({
          status: res.statusCode ?? 0,
          seen(key) {
            if (key === 'at') return res.headers['x-upstream']
            if (key.startsWith('res.')) return res.headers[key.slice(4)]
            if (key === 'body') return body
            const echoed = JSON.parse(body) as { path: string; headers: Record<string, string> }
            return key === 'path' ? echoed.path : echoed.headers[key.slice(4)]
          },
        })
      })
    })
    call.on('error', fail)
    call.end(body)
  })
}

import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { renderTranslation } from '../../../src/tools/translate.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { startUpstream, type Upstream } from '../../helpers/upstream.ts'
import { statusLines, translated } from './translate.ts'

/**
 * Each file holds resources and says in comments what they come to:
 *   # probe GET http://host:8080/path [name: value; …] => 200 [path=/x] [at=9001] [req.name=value] [res.name=value]
 *   # status HTTPRoute default/app: Accepted=False NoMatchingParent
 *   # loss GW602 part of the message
 *   # finding GW204
 */
const folder = new URL('../../../fixtures/translate/cases/', import.meta.url)
const files = readdirSync(folder).sort()
/** Stand-ins for the ports of endpoints. */
const PORTS = ['9001', '9002', '9003', '9004']
const upstreams = new Map<string, Upstream>()

beforeAll(async () => {
  for (const port of PORTS) {
    const upstream = await startUpstream((req, res) => {
      res.writeHead(200, { 'x-upstream': port, 'content-type': 'application/json' })
      res.end(JSON.stringify({ path: req.url, headers: req.headers }))
    })
    upstreams.set(port, upstream)
  }
})
afterAll(async () => {
  for (const upstream of upstreams.values()) await upstream[Symbol.asyncDispose]()
})

const expectations = (text: string, kind: string): string[] =>
  text.split('\n').flatMap(line => (line.startsWith(`# ${kind} `) ? line.slice(kind.length + 3).trim() : []))

describe.each(files)('%s', file => {
  const text = readFileSync(new URL(file, folder), 'utf8')

  test('has the statuses, losses and findings that it says', async () => {
    const made = await translated({ [file]: text }, { filesDir: 'files' })
    const have = statusLines(made)
    for (const line of expectations(text, 'status')) {
      const [, resource, condition, reason] = /^(.*): (\S+) (\S+)$/.exec(line)!
      expect(
        have.some(row => row.startsWith(`${resource} `) && row.includes(`${condition}  ${reason}`)),
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
    expect([...new Set(errors)].sort()).toEqual(expectations(text, 'finding').sort())
  })

  test.runIf(expectations(text, 'probe').length > 0)('answers requests as it says', async () => {
    const made = await translated({ [file]: text }, { filesDir: 'files' })
    const written = renderTranslation(made, 'yaml', true).replace(
      /127\.0\.0\.1:(900\d)/g,
      (all, port: string) => upstreams.get(port)?.host ?? all,
    )
    const data = Object.fromEntries([...made.finished.work.files].map(([path, { bytes }]) => [path, bytes.toString()]))
    await using gateway = await startGateway(written, { files: data })
    for (const probe of expectations(text, 'probe')) {
      const [, method, url, headers, status, wanted] = /^(\S+) (\S+)(?: \[(.*?)\])? => (\d+)(?: (.*))?$/.exec(probe)!
      const { hostname, port, pathname, search } = new URL(url!)
      const base = gateway.url(Number(port || 80))
      const reply = await send(method!, base, `${pathname}${search}`, hostname, headers)
      expect(`${probe} ${reply.status}`).toBe(`${probe} ${status}`)
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

function send(method: string, base: string, path: string, host: string, headers = ''): Promise<Reply> {
  const fields = Object.fromEntries(
    headers
      .split(';')
      .filter(Boolean)
      .map(each => {
        const [name, ...value] = each.split(':')
        return [name!.trim(), value.join(':').trim()]
      }),
  )
  return new Promise((done, fail) => {
    const call = request(new URL(base), { method, path, headers: { host, ...fields }, agent: false }, res => {
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
    call.end()
  })
}

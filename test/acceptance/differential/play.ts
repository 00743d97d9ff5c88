import { createHash } from 'node:crypto'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { type Case, portsOf, substitute } from './cases.ts'
import { type Reply, send } from './client.ts'
import { playExpressions } from './expressions.ts'
import type { Answer, Recording, Start, System } from './system.ts'
import { type Call, Upstreams } from './upstreams.ts'

const authority = createAuthority('differential')
const server = createCertificate(authority, ['gateway.test', '*.gateway.test', 'secure.test'])
export const FILES = { 'ca.pem': authority.cert, 'server.pem': server.cert, 'server.key': server.key }
const LONGEST_BODY = 2000
/** Ids that a gateway makes up, and when: some providers give none. */
const MADE_UP =
  /"(id|item_id)":"(?:(?:bedrock|chatcmpl|gwctl|(?:rs_|fc_|msg_|ctc_)?resp|msg)[-_])?[0-9a-f-]{13,36}(?:_\d+)?"/g
const NOW = /"(created|created_at)":\d{10}\b/g
/** The span that requests come with. */
const PARENT = 'b7ad6b7169203331'

/** Starts a system with the configuration of the case, sends its requests in turn and notes what comes of each. */
export async function play(each: Case, start: Start): Promise<Recording> {
  if (each.expressions) return playExpressions(each.expressions, start)
  await using upstreams = new Upstreams(server)
  await upstreams.start(each.upstreams ?? { main: 'http1' })
  const names = { ...each.vars, ...upstreams.addresses }
  const config = substitute(each.config, names)
  const ports = portsOf(config)
  await using system = await start(config, FILES)
  const opened = new Map(ports.map(port => [String(system.portOf(port)), String(port)]))
  const plain = normaliser(upstreams.addresses, opened)
  const replies: Record<string, Answer> = {}
  for (const request of substitute(each.requests, names)) {
    upstreams.next(request.reply)
    const answers = await send(request, system.portOf(request.port ?? ports[0]!))
    await until(() => upstreams.calls.length >= (request.calls ?? 0), request.name)
    const calls = [...upstreams.calls].sort((a, b) => (a.to < b.to ? -1 : a.to > b.to ? 1 : 0))
    for (const [i, answer] of answers.entries())
      replies[i === 0 ? request.name : `${request.name} (${i + 1})`] = note(answer, i === 0 ? calls : [], plain)
  }
  return { replies, ...(await observed(each, system, plain)) }
}

/** `plain`: takes out what differs between two runs. */
export function note(answer: Reply, calls: readonly Call[], plain: (text: string) => string): Answer {
  return {
    status: answer.status,
    headers: answer.headers.map(header),
    body: body(answer.body),
    ...(calls.length > 0 && {
      upstream: calls.map(({ to, line, headers, body: sent }) => ({
        to,
        line: plain(line),
        headers: headers.map(header),
        body: body(sent),
      })),
    }),
  }

  function header(line: string): string {
    // A signature is of its second; tests of their own verify it.
    if (line.startsWith('authorization: AWS4-')) return line.replace(/\d{8}(?=\/)|[0-9a-f]{64}$/g, '<of the time>')
    if (line.startsWith('x-amz-date: ')) return 'x-amz-date: <time>'
    if (line.startsWith('x-ratelimit-reset: ')) return line.replace(/\d{4}$/, '<seconds>')
    if (line.startsWith('set-cookie: agw_')) return cookie(line)
    if (line.startsWith('location: ')) return line.replace(/\b(state|nonce|code_challenge)=[\w.-]+/g, '$1=<random>')
    const own = line.startsWith('traceparent: ') && !line.includes(PARENT)
    return plain(own ? line.replace(/-[0-9a-f]{16}-/, '-<span>-') : line.replace(/^(date): .*/i, '$1: <date>'))
  }

  function body(sent: string): string {
    const text = sent.replace(MADE_UP, '"$1":"<id>"').replace(NOW, '"$1":0')
    if (text.length <= LONGEST_BODY) return plain(text)
    return `<${text.length} bytes, ${createHash('sha256').update(text).digest('hex').slice(0, 16)}>`
  }
}

/** A cookie of the gateway: its name and value differ between runs, and the order of attributes means nothing. */
function cookie(line: string): string {
  const [, ...attributes] = line.split('; ')
  return ['set-cookie: <cookie>', ...attributes.sort()].join('; ')
}

/** Ports differ between runs. */
export function normaliser(
  upstreams: Readonly<Record<string, string>>,
  opened: ReadonlyMap<string, string>,
): (text: string) => string {
  const names = new Map(Object.entries(upstreams).map(([name, address]) => [address, name]))
  return text =>
    text
      .replace(/127\.0\.0\.1:(\d+)/g, (address, port: string) => {
        const name = names.get(address)
        if (name !== undefined) return `<${name}>`
        return `127.0.0.1:${opened.get(port) ?? '<port>'}`
      })
      .replace(/bind\/(\d+)/g, (whole, port: string) => (opened.has(port) ? `bind/${opened.get(port)}` : whole))
}

async function observed(each: Case, system: System, plain: (text: string) => string) {
  const found: { log?: Record<string, string>[]; metrics?: string[] } = {}
  if (each.observe?.includes('log')) {
    await until(() => system.records().length >= expectedRecords(each), 'its log records')
    found.log = system.records().map(line => record(JSON.parse(line) as Record<string, unknown>, plain))
  }
  if (each.observe?.includes('text log')) {
    await until(() => system.records().length >= expectedRecords(each), 'its log records')
    found.log = system.records().map(line => ({ line: plain(textRecord(line)) }))
  }
  if (each.observe?.includes('metrics')) {
    const wanted = each.requests.length
    let text = ''
    await until(async () => {
      text = await system.metrics()
      return counted(text) >= wanted
    }, 'its metrics')
    found.metrics = series(plain(text))
  }
  return found
}

function textRecord(line: string): string {
  return line.replace(/^\S+/, '<time>').replace(/\bduration="?[\d.]+[nuµm]?s"?/, 'duration=<duration>')
}

function expectedRecords(each: Case): number {
  return each.requests.filter(request => !request.unlogged).length
}

function record(fields: Record<string, unknown>, plain: (text: string) => string): Record<string, string> {
  const kept = Object.entries(fields).filter(([name]) => name !== 'time')
  return Object.fromEntries(
    kept.map(([name, value]) => {
      if (name === 'span.id') return [name, '<span>']
      if (name === 'duration') return [name, /^[\d.]+(ns|us|µs|ms|s)$/.test(String(value)) ? '<duration>' : `${value}`]
      return [name, plain(typeof value === 'string' ? value : `${JSON.stringify(value)}`)]
    }),
  )
}

function counted(text: string): number {
  const values = [...text.matchAll(/^agentgateway_requests_total\{.*\} (\d+)/gm)].map(found => Number(found[1]))
  return values.reduce((sum, each) => sum + each, 0)
}

function series(text: string): string[] {
  const found = new Set<string>()
  for (const [, name = '', labels = '', value] of text.matchAll(/^(agentgateway_\w+)(?:\{(.*)\})? (\S+)/gm)) {
    if (name === 'agentgateway_requests_total') found.add(`${name}{${labels}} ${value}`)
    else if (!/_bucket$|_sum$|build_info|_(process|tokio|config)_/.test(name))
      found.add(`${name} ${[...labels.matchAll(/(\w+)="/g)].map(label => label[1]).join(' ')}`.trimEnd())
  }
  return [...found].sort()
}

export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const started = performance.now(); !(await holds()); ) {
    if (performance.now() - started > 60_000) throw new Error(`waited in vain for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

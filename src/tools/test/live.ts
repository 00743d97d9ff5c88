import { Failure } from '../../diagnostics/failure.ts'
import { connectionReason } from '../admin/connection-reason.ts'
import type { CurlRequest } from '../curl/curl-request.ts'
import { askedFor, fieldOf } from '../dry-run/dry-request.ts'
import type { DryOutcome, DryRequest } from '../dry-run/dry-run.ts'
import { startRequest } from '../events/inject.ts'
import type { TestCase, TestRequest } from '../test-file/test-file.ts'

/** What clients see of a gateway. */
const VISIBLE: ReadonlySet<string> = new Set(['status', 'header', 'body', 'json', 'mcp'])

export function isVisible(field: string): boolean {
  return VISIBLE.has(field.split(/[.[]/, 1)[0] as string)
}

/** Why a case cannot run against a running gateway. Undefined if it can. */
export function onlyDry({ request, expect, steps }: TestCase): string | undefined {
  const all = steps ?? [{ request, expect, advance: undefined }]
  if (all.some(({ advance }) => advance !== undefined)) return 'a running gateway goes by its own clock'
  const made = all.map(step => madeUp(step.request)).find(field => field !== undefined)
  if (made !== undefined) return `\`${made}\` is made up, which a running gateway does not believe`
  const fields = all.flatMap(step => Object.keys(step.expect ?? {}))
  return fields.some(isVisible) ? undefined : 'it checks what only the gateway itself sees'
}

function madeUp({ jwt, apiKey, source }: TestRequest = {}): string | undefined {
  return Object.entries({ jwt, apiKey, source }).find(([, value]) => value !== undefined)?.[0]
}

/** Timeout in ms without a byte, and in total: some streams never end. */
const REPLY_TIMEOUT = 10_000
const LONGEST = 60_000
/** Bytes of a body; no expectation needs more. */
const LARGEST = 64 * 1024 * 1024

/** Sends requests to the address of a running gateway, whatever host they name, also in TLS. */
export class LiveGateway {
  readonly #base: URL
  readonly #place: Pick<CurlRequest, 'connectTo' | 'hostless'>

  constructor(base: URL) {
    const { hostname, port, protocol } = base
    const opened = {
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(port) || (protocol === 'https:' ? 443 : 80),
    }
    this.#base = base
    this.#place = { connectTo: opened, hostless: false }
  }

  /** Throws a Failure `unreachable`. */
  run(request: DryRequest): Promise<DryOutcome> {
    const { method, headers, body, sni } = request
    const { authority = this.#base.host, path } = askedFor(request)
    const host = fieldOf(headers, 'host') === undefined ? [['host', authority] as const] : []
    const url = URL.parse(`${this.#base.protocol}//${sni ?? authority}`) ?? this.#base
    const wanted = { method, url, headers: [...host, ...headers], body, insecure: true, ...this.#place }
    const sent = startRequest(wanted, path)
    const last = setTimeout(() => sent.destroy(new Error(`no end within ${LONGEST / 1000} s`)), LONGEST)
    sent.on('close', () => clearTimeout(last))
    return new Promise((done, fail) => {
      const unreachable = (reason: string) =>
        fail(new Failure('unreachable', `${this.#base.origin} cannot be reached: ${reason}.`))
      sent.on('error', error => unreachable(connectionReason(error)))
      sent.setTimeout(REPLY_TIMEOUT, () => sent.destroy(new Error(`no answer within ${REPLY_TIMEOUT / 1000} s`)))
      sent.on('response', response => {
        const chunks: Buffer[] = []
        const end = () => done(outcomeOf(response.statusCode, response.rawHeaders, Buffer.concat(chunks)))
        let size = 0
        response.on('data', (chunk: Buffer) => {
          chunks.push(chunk)
          size += chunk.length
          if (size > LARGEST) sent.destroy(new Error('too much'))
        })
        // A response that breaks off is used as far as it arrived.
        response.on('end', end).on('error', end)
      })
      sent.end(body)
    })
  }
}

function outcomeOf(status: number | undefined, raw: readonly string[], body: Buffer): DryOutcome {
  const headers: [string, string][] = []
  for (let i = 0; i + 1 < raw.length; i += 2) headers.push([raw[i] as string, raw[i + 1] as string])
  const hidden = /^set-cookie$/i
  const shown = headers.map(([name, value]) => [name, hidden.test(name) ? '<redacted>' : value] as const)
  return {
    events: [],
    status,
    headers,
    shown: { headers: shown },
    body,
    upstream: [],
    bind: undefined,
    listener: undefined,
    route: undefined,
    backend: undefined,
    backends: [],
    error: undefined,
    reason: '',
    llm: undefined,
    mcp: undefined,
    a2a: undefined,
    duration: 0,
  }
}

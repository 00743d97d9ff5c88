import { chatRequest, hasStreams } from './upstream.ts'

export interface Workload {
  readonly path: string
  readonly connections: number
  readonly body?: string
  /** Sent to the port behind the four policies. */
  readonly guarded?: boolean
  /** At least, where a request takes long. */
  readonly seconds?: number
  /** Only these targets run it. */
  readonly only?: readonly string[]
}

const CHAT = { path: '/v1/chat/completions', connections: 64, body: chatRequest(false) }
const STREAM = { path: '/paced/v1/chat/completions', connections: 64, body: chatRequest(true), seconds: 4 }

export const WORKLOADS: Readonly<{ [name: string]: Workload }> = {
  get: { path: '/small', connections: 64 },
  'get+policies': { path: '/small', connections: 64, guarded: true },
  chat: CHAT,
  'chat+policies': { ...CHAT, guarded: true },
  ...(hasStreams ? { stream: STREAM, burst: { ...STREAM, path: '/burst/v1/chat/completions', seconds: 1 } } : {}),
  body: { path: '/big', connections: 16 },
  // So many connections that the kernel spreads them evenly.
  workers: { ...CHAT, connections: 256, only: ['gwctl-1', 'gwctl-2'] },
}

/** The script by which wrk sends the requests of a workload and says in one line how that went. */
export function wrkScript({ body }: Workload, fields: Readonly<Record<string, string>>): string {
  const sent: Record<string, string> =
    body === undefined
      ? { ...fields }
      : {
          'content-type': 'application/json',
          accept: 'application/json',
          authorization: 'Bearer test-0123456789abcdef',
          'user-agent': 'OpenAI/JS 6.1.0',
          'x-stainless-lang': 'js',
          'x-stainless-os': 'Linux',
          'x-stainless-runtime': 'node',
          ...fields,
        }
  const lines = Object.entries(sent).map(([name, value]) => `wrk.headers["${name}"] = "${value}"`)
  if (body !== undefined) lines.push('wrk.method = "POST"', `wrk.body = [=[${body}]=]`)
  return `${lines.join('\n')}
done = function(s, l)
  io.write(string.format('RESULT {"requests":%d,"duration":%d,"errors":%d,"p50":%d,"p99":%d}\\n', s.requests, s.duration,
    s.errors.connect + s.errors.read + s.errors.write + s.errors.status + s.errors.timeout, l:percentile(50), l:percentile(99)))
end
`
}

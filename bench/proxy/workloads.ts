import { chatRequest, hasStreams } from './upstream.ts'

export interface Workload {
  readonly path: string
  readonly connections: number
  readonly body?: string
  /** Sent to the port with policies. */
  readonly guarded?: boolean
  /** Sent to the port whose routes are LLM routes. */
  readonly llm?: boolean
  /** Over TLS 1.3 with a P-256 certificate. `wrk` resumes sessions, `h2load` never does. */
  readonly secure?: boolean
  /** Sent by `h2load`, which speaks HTTP/2, or HTTP/1.1 with one connection per request. */
  readonly h2load?: 'h1' | 'h2' | 'fresh'
  /** HTTP/2: streams at a time per connection. */
  readonly streams?: number
  /** Bytes to send. */
  readonly upload?: number
  /** A gRPC call. */
  readonly grpc?: boolean
  /** Messages of WebSocket, one at a time on each connection. */
  readonly messages?: boolean
  /** Requests per second on each connection; what counts are the percentiles. */
  readonly rate?: number
  /** Proxies that only have one backend cannot serve it. */
  readonly routed?: boolean
  /** The ratio to the public system that is aimed at. */
  readonly goal?: number
  /** Each request asks for the end of its connection. */
  readonly closing?: boolean
  /** At least, where a request takes long. */
  readonly seconds?: number
  /** Only these targets run it. */
  readonly only?: readonly string[]
}

const CHAT = { path: '/v1/chat/completions', connections: 64, body: chatRequest(false) }
const STREAM = { path: '/paced/v1/chat/completions', connections: 64, body: chatRequest(true), seconds: 4 }

const GRPC: Omit<Workload, 'path'> = {
  connections: 8,
  streams: 8,
  body: '\0\0\0\0\x64'.padEnd(105, 'x'),
  secure: true,
  h2load: 'h2',
  grpc: true,
  routed: true,
}

export const WORKLOADS: Readonly<{ [name: string]: Workload }> = {
  get: { path: '/small', connections: 64, goal: 0.55 },
  // 6,400 a second, about half of what a core serves.
  'get@rate': { path: '/small', connections: 64, h2load: 'h1', rate: 100 },
  'get+policies': { path: '/small', connections: 64, guarded: true, goal: 0.55 },
  // Another service is asked about each request, over gRPC.
  'get+authz': { path: '/authz/small', connections: 64, guarded: true },
  'get+limit': { path: '/limit/small', connections: 64, guarded: true },
  chat: { ...CHAT, goal: 0.55 },
  'chat+policies': { ...CHAT, guarded: true, goal: 0.55 },
  ...(hasStreams
    ? { stream: { ...STREAM, goal: 0.95 }, burst: { ...STREAM, path: '/burst/v1/chat/completions', seconds: 1 } }
    : {}),
  'llm-chat': { ...CHAT, llm: true, goal: 0.55 },
  ...(hasStreams
    ? {
        'llm-stream': { ...STREAM, llm: true, goal: 0.95 },
        // From Anthropic, for a client of chat completions.
        'llm-converted': { ...STREAM, llm: true, path: '/converted/v1/chat/completions', goal: 1 },
      }
    : {}),
  body: { path: '/big', connections: 16, goal: 0.9 },
  ...(hasStreams ? { upload: { path: '/sink', connections: 16, upload: 1 << 20, goal: 1 } } : {}),
  'tls-get': { path: '/small', connections: 64, secure: true, goal: 0.65 },
  'tls-chat': { ...CHAT, secure: true },
  'tls-body': { path: '/big', connections: 16, secure: true, goal: 0.9 },
  // Each request on a connection of its own.
  'tls-full': { path: '/small', connections: 16, secure: true, h2load: 'fresh', goal: 1.4 },
  'tls-resumed': { path: '/small', connections: 16, secure: true, closing: true, goal: 1.2 },
  'h2-get': { path: '/small', connections: 8, streams: 8, secure: true, h2load: 'h2', goal: 0.85 },
  'h2-chat': { ...CHAT, connections: 8, streams: 8, secure: true, h2load: 'h2', goal: 0.85 },
  ...(hasStreams ? { 'h2-stream': { ...STREAM, connections: 8, streams: 8, secure: true, h2load: 'h2' } } : {}),
  'h2-body': { path: '/big', connections: 4, streams: 4, secure: true, h2load: 'h2', goal: 0.8 },
  // HTTP/2 on both sides.
  'grpc-unary': { ...GRPC, path: '/bench.Calls/Unary', goal: 0.85 },
  'grpc-stream': { ...GRPC, path: '/bench.Calls/Stream', goal: 0.8 },
  // HTTP/2 to the backend only.
  'to-h2-get': { path: '/h2/small', connections: 64, routed: true },
  'to-h2-body': { path: '/h2/big', connections: 16, routed: true },
  ...(hasStreams ? { 'to-h2-upload': { path: '/h2/sink', connections: 16, upload: 1 << 20, routed: true } } : {}),
  websocket: { path: '/ws', connections: 64, messages: true, routed: true, goal: 1 },
  // So many connections that the kernel spreads them evenly.
  workers: { ...CHAT, connections: 256, only: ['gwctl-1', 'gwctl-2'] },
}

/** What an SDK says with a chat. */
export const BENCH_FIELDS: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  accept: 'application/json',
  authorization: 'Bearer test-0123456789abcdef',
  'user-agent': 'OpenAI/JS 6.1.0',
  'x-stainless-lang': 'js',
  'x-stainless-os': 'Linux',
  'x-stainless-runtime': 'node',
}

/** What a client of gRPC says. */
export const GRPC_FIELDS: Readonly<Record<string, string>> = { 'content-type': 'application/grpc', te: 'trailers' }

/** The script by which wrk sends the requests of a workload and says in one line how that went. */
export function wrkScript({ body, upload, closing }: Workload, fields: Readonly<Record<string, string>>): string {
  const sent: Record<string, string> = {
    ...(body === undefined ? {} : BENCH_FIELDS),
    ...(closing ? { connection: 'close' } : {}),
    ...fields,
  }
  const lines = Object.entries(sent).map(([name, value]) => `wrk.headers["${name}"] = "${value}"`)
  if (body !== undefined) lines.push('wrk.method = "POST"', `wrk.body = [=[${body}]=]`)
  if (upload !== undefined) lines.push('wrk.method = "POST"', `wrk.body = string.rep("gateway ", ${upload / 8})`)
  return `${lines.join('\n')}
done = function(s, l)
  io.write(string.format('RESULT {"requests":%d,"duration":%d,"errors":%d,"p50":%d,"p99":%d}\\n', s.requests, s.duration,
    s.errors.connect + s.errors.read + s.errors.write + s.errors.status + s.errors.timeout, l:percentile(50), l:percentile(99)))
end
`
}

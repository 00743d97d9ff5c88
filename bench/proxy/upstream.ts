import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Where Debian's libnginx-mod-http-echo lies: without it there are no streams to measure. */
const ECHO = '/usr/lib/nginx/modules/ngx_http_echo_module.so'
const CHUNKS = 50
const LLM_FIELDS = [
  ['x-request-id', 'req_0123456789abcdef0123456789abcdef'],
  ['openai-organization', 'org-example'],
  ['openai-processing-ms', '412'],
  ['openai-version', '2020-10-01'],
  ['x-ratelimit-limit-requests', '10000'],
  ['x-ratelimit-remaining-requests', '9999'],
  ['x-ratelimit-reset-tokens', '6ms'],
  ['strict-transport-security', 'max-age=31536000; includeSubDomains'],
  ['cf-ray', '8f0123456789abcd-FRA'],
]

export const hasStreams = existsSync(ECHO)

/**
 * The server behind every proxy: fixed replies of a few sizes, on `http2` in HTTP/2 without TLS. Returns the path of its
 * configuration.
 */
export async function writeUpstream(folder: string, port: number, http2: number): Promise<string> {
  await mkdir(join(folder, 'html'), { recursive: true })
  await writeFile(join(folder, 'html', 'big'), Buffer.alloc(1 << 20, 'gateway'))
  const fields = LLM_FIELDS.map(([name, value]) => `add_header ${name} "${value}";`).join(' ')
  const stream = (path: string, pause: string, events = chunks()): string =>
    hasStreams ? `location = ${path} { default_type text/event-stream; ${fields} ${paced(events, pause)} }` : ''
  return write(
    folder,
    'upstream',
    `listen 127.0.0.1:${http2} http2 backlog=4096; root ${folder}/html;
    location = /small { default_type text/plain; return 200 '${'x'.repeat(100)}'; }
    location ~ ^/(authz|limit|h2)/small$ { default_type text/plain; return 200 '${'x'.repeat(100)}'; }
    location = /v1/chat/completions { default_type application/json; ${fields} return 200 '${completion(2048)}'; }
    location = /big { default_type application/octet-stream; }
    location = /h2/big { default_type application/octet-stream; alias ${folder}/html/big; }
    ${hasStreams ? 'location ~ ^(/h2)?/sink$ { default_type text/plain; echo_read_request_body; echo ok; }' : ''}
    ${stream('/paced/v1/chat/completions', 'echo_sleep 0.010;')}
    ${stream('/burst/v1/chat/completions', '')}
    ${stream('/paced/v1/messages', 'echo_sleep 0.010;', messageEvents())}`,
    port,
  )
}

/** A P-256 certificate for every proxy, `cert.pem` and `key.pem`. */
export async function writeCertificate(folder: string): Promise<void> {
  const key = 'ec -pkeyopt ec_paramgen_curve:P-256'
  const files = `-keyout ${folder}/key.pem -out ${folder}/cert.pem`
  const command = `req -x509 -newkey ${key} -nodes -days 30 -subj /CN=bench.test ${files}`
  await promisify(execFile)('openssl', command.split(' '))
}

/** The measure of all things: nginx as a proxy, with its default buffers. */
export function writeNginxProxy(
  folder: string,
  { port, secure, upstream }: { readonly port: number; readonly secure: number; readonly upstream: number },
): Promise<string> {
  return write(
    folder,
    'proxy',
    `listen 127.0.0.1:${secure} ssl http2 backlog=4096; ssl_certificate ${folder}/cert.pem;
    ssl_certificate_key ${folder}/key.pem; ssl_session_cache builtin:1000;
    proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; proxy_max_temp_file_size 0;
    location / { proxy_pass http://upstream; }
    location /paced { proxy_buffering off; proxy_pass http://upstream; }
    location /burst { proxy_buffering off; proxy_pass http://upstream; }`,
    port,
    `upstream upstream { server 127.0.0.1:${upstream}; keepalive 512; keepalive_requests 1000000000; }`,
  )
}

/** A chat request as an SDK sends it, for wrk; `stream` asks for events. */
export function chatRequest(stream: boolean): string {
  const request = {
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: '' },
    ],
    temperature: 0.7,
    max_tokens: 512,
    ...(stream ? { stream } : {}),
  }
  const rest = 2048 - JSON.stringify(request).length
  const last = request.messages[1] as { content: string }
  last.content = 'How does a reverse proxy relay a stream? '.repeat(60).slice(0, rest)
  return JSON.stringify(request)
}

async function write(folder: string, name: string, server: string, port: number, http = ''): Promise<string> {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map(kind => `${kind}_temp_path ${folder}/${name}-${kind};`)
    .join(' ')
  const path = join(folder, `${name}.conf`)
  await writeFile(
    path,
    `${name === 'upstream' && hasStreams ? `load_module ${ECHO};` : ''}
daemon off; master_process off; worker_rlimit_nofile 20000; pid ${folder}/${name}.pid; error_log ${folder}/${name}.log error;
events { worker_connections 8192; }
http {
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; sendfile on; tcp_nopush on; tcp_nodelay on;
  client_body_buffer_size 64k; client_max_body_size 64m; server_tokens off; etag off; ${temporary}
  open_file_cache max=10 inactive=600s;
  ${http}
  server {
    listen 127.0.0.1:${port} backlog=4096;
    ${server}
  }
}
`,
  )
  return path
}

function completion(size: number): string {
  const reply = {
    id: 'chatcmpl-AbCdEf0123456789',
    object: 'chat.completion',
    created: 1760000000,
    model: 'gpt-4o-mini-2024-07-18',
    choices: [{ index: 0, message: { role: 'assistant', content: '' }, logprobs: null, finish_reason: 'stop' }],
    usage: { prompt_tokens: 412, completion_tokens: 318, total_tokens: 730 },
  }
  const rest = size - JSON.stringify(reply).length
  const choice = reply.choices[0] as (typeof reply.choices)[0]
  choice.message.content = 'Bytes come in on one side and go out on the other. '.repeat(60).slice(0, rest)
  return JSON.stringify(reply)
}

/** Each event as its lines, `data` and its name. */
function paced(events: readonly string[], pause: string): string {
  return events.map(event => `${pause} echo '${event}\\n'; echo_flush;`).join('\n')
}

function chunks(): string[] {
  const out: string[] = []
  for (let i = 0; i < CHUNKS - 1; i++) {
    const event = {
      id: 'chatcmpl-AbCdEf0123456789',
      object: 'chat.completion.chunk',
      created: 1760000000,
      model: 'gpt-4o-mini-2024-07-18',
      system_fingerprint: 'fp_0123456789',
      choices: [{ index: 0, delta: { content: ` token${i}` }, logprobs: null, finish_reason: null }],
    }
    out.push(`data: ${JSON.stringify(event)}`)
  }
  out.push('data: [DONE]')
  return out
}

/** As many, in Anthropic's format. */
function messageEvents(): string[] {
  const usage = { input_tokens: 412, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 }
  const message = {
    id: 'msg_01AbCdEf0123456789',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-4-5-20250929',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  }
  const events: { type: string; [name: string]: unknown }[] = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ]
  for (let i = 0; i < CHUNKS - 5; i++) {
    const delta = { type: 'text_delta', text: ` token${i}` }
    events.push({ type: 'content_block_delta', index: 0, delta })
  }
  const delta = { stop_reason: 'end_turn', stop_sequence: null }
  events.push(
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta, usage: { output_tokens: 318 } },
    { type: 'message_stop' },
  )
  return events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}`)
}

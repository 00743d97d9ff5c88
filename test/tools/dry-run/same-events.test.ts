import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openDryGateway, type Stub } from '../../../src/tools/dry-run/dry-run.ts'
import type { TraceEvent } from '../../../src/trace/trace-event.ts'
import { ManualClock } from '../../engine/manual-clock.ts'
import { startGateway } from '../../helpers/gateway.ts'
import { startUpstream } from '../../helpers/upstream.ts'

const TIME = Date.parse('2026-01-01T00:00:00Z')
const BODY = '{"ok":true}'

/** The requests of one configuration, and what its backend answers with. */
interface Case {
  readonly policies: string
  readonly path?: string
  readonly method?: string
  readonly headers?: readonly (readonly [string, string])[]
  readonly status?: number
  /** In place of the backend that answers. */
  readonly backends?: string
}

const JWKS = '{"keys":[]}'
const KEY = 'sha256:2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683'

const CASES: Readonly<Record<string, Case>> = {
  'a plain answer': { policies: '{}' },
  'a backend that fails': { policies: '{}', status: 500 },
  'a backend that refuses': { policies: '{}', status: 404 },
  'a retry': { policies: '{retry: {attempts: 1, codes: [503]}}', status: 503 },
  'no route': { policies: '{}', path: '/elsewhere' },
  'no backend': { policies: '{}', backends: '[]' },
  'nobody listens': { policies: '{}', backends: "[{host: '127.0.0.1:1'}]" },
  'a rule that denies': { policies: `{authorization: {rules: [{deny: 'request.headers["x-role"] == "guest"'}]}}` },
  'a rule that allows': { policies: `{authorization: {rules: ['request.method == "GET"']}}`, method: 'POST' },
  'a token that is missing': { policies: `{jwtAuth: {issuer: me, jwks: '${JWKS}'}}` },
  'a token that is none': {
    policies: `{jwtAuth: {issuer: me, jwks: '${JWKS}'}}`,
    headers: [['authorization', 'Bearer nonsense']],
  },
  'a key that is wrong': {
    policies: `{apiKey: {keys: [{keyHash: '${KEY}'}]}}`,
    headers: [['authorization', 'Bearer nonsense']],
  },
  'a foreign origin': { policies: '{csrf: {}}', method: 'POST', headers: [['origin', 'https://evil.test']] },
  'an origin that may not read': {
    policies: '{cors: {allowOrigins: ["https://good.test"]}}',
    headers: [['origin', 'https://evil.test']],
  },
  'a redirect': { policies: '{requestRedirect: {authority: {host: other.test}}}' },
  'an answer without a backend': { policies: '{directResponse: {status: 418, body: no}}' },
  'a limit': { policies: '{localRateLimit: [{maxTokens: 9, tokensPerFill: 9, fillInterval: 1s}]}' },
  'changed heads': {
    policies: [
      "{transformations: {request: {set: {x-a: 'request.path'}}, response: {set: {x-b: 'string(response.code)'}}}",
      "requestHeaderModifier: {add: {x-c: '1'}}",
      "responseHeaderModifier: {set: {x-d: '2'}}",
      'urlRewrite: {path: {full: /in}}}',
    ].join(', '),
  },
}

/** Of services that policies ask, and of backends other than plain ones; HOST is the backend of all. */
const MORE: Readonly<Record<string, Case>> = {
  'a mirror': { policies: '{requestMirror: {backend: {host: HOST}, percentage: 1}}' },
  'a service that lets pass': { policies: '{extAuthz: {host: HOST, protocol: {http: {}}}}' },
  'a service that refuses': { policies: '{extAuthz: {host: HOST, protocol: {http: {}}}}', status: 403 },
  'a service that cannot be reached': { policies: "{extAuthz: {host: '127.0.0.1:1', protocol: {http: {}}}}" },
  'a service that may be passed by': {
    policies: "{extAuthz: {host: '127.0.0.1:1', protocol: {http: {}}, failureMode: allow}}",
  },
  'a service that cannot be reached over gRPC': { policies: "{extAuthz: {host: '127.0.0.1:1'}}" },
  'a processor that cannot be reached': { policies: "{extProc: {host: '127.0.0.1:1'}}" },
  'a limiter that cannot be reached': {
    policies: `{remoteRateLimit: {domain: d, host: '127.0.0.1:1', descriptors: [{entries: [{key: a, value: '"b"'}]}]}}`,
  },
  'a policy that applies by a condition': {
    policies: `{directResponse: {conditional: [{condition: 'request.path == "/b"', status: 418}, {status: 200, body: ok}]}}`,
  },
  'a limit that is used up': { policies: '{localRateLimit: [{fillInterval: 60s}]}' },
  'a rule that cannot be evaluated': { policies: `{authorization: {rules: [{deny: 'jwt.sub == "x"'}]}}` },
  'credentials that are missing': { policies: '{basicAuth: {htpasswd: "a:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M="}}' },
  'a reply that is too large': { policies: '{buffer: {response: {maxBytes: 1}}}' },
  'a path that is not normal': { policies: '{}', path: '/x/../a' },
  'a path that is refused': { policies: '{}', path: '/a%2fb' },
  'a HEAD': { policies: '{}', method: 'HEAD' },
  'an answer to a preflight': {
    policies: '{cors: {allowOrigins: ["https://good.test"], allowMethods: [GET]}}',
    method: 'OPTIONS',
    headers: [
      ['origin', 'https://good.test'],
      ['access-control-request-method', 'GET'],
    ],
  },
  'a backend with policies of its own': {
    policies: '{}',
    backends:
      '[{host: HOST, policies: {requestHeaderModifier: {set: {x-e: "1"}}, responseHeaderModifier: {set: {x-f: "1"}}}}]',
  },
  'a retry after a refused connection': {
    policies: '{retry: {attempts: 2, codes: [503]}}',
    backends: "[{host: '127.0.0.1:1'}]",
  },
  'a request without a model': {
    policies: '{}',
    backends: '[{ai: {name: x, provider: {openAI: {}}, hostOverride: HOST}}]',
    method: 'POST',
  },
}

function fileOf({ policies, backends }: Case, host: string): string {
  return `binds:
- port: 8080
  listeners:
  - routes:
    - name: only
      matches: [{path: {pathPrefix: /a}}]
      policies: ${policies}
      backends: ${backends ?? `[{host: '${host}'}]`}
`.replaceAll('HOST', `'${host}'`)
}

test.each(Object.entries({ ...CASES, ...MORE }))(
  'a dry run of %s emits the same events as the engine',
  async (_name, each) => {
    const { path = '/a?q=1', method = 'GET', headers = [['x-role', 'guest']], status = 200 } = each
    await using upstream = await startUpstream((req, res) => {
      req.resume()
      res.sendDate = false
      res.writeHead(status, { 'content-type': 'application/json', 'content-length': BODY.length }).end(BODY)
    })
    const text = fileOf(each, upstream.host)
    const sent = [
      ['host', 'gw.test'] as const,
      ...headers,
      ...(method === 'POST' ? [['content-length', '0'] as const] : []),
    ]

    await using gateway = await startGateway(text, { clock: new ManualClock() })
    const watch = gateway.trace.watch({ requests: 1 })
    if (watch === undefined || 'problem' in watch) throw new Error('nobody watches')
    const socket = connect(Number(new URL(gateway.url(8080)).port), '127.0.0.1')
    socket.write(`${method} ${path} HTTP/1.1\r\n${sent.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
    await once(socket, 'data')
    const live: TraceEvent[] = []
    await expect
      .poll(() => {
        for (let event = watch.next(); event; event = watch.next()) live.push(event)
        return watch.finished
      })
      .toBe(true)
    socket.destroy()

    const stub = { status, body: BODY, headers: [['content-type', 'application/json'] as const] }
    const stubs = new Map<string, Stub>([
      ['127.0.0.1:1', { unreachable: true }],
      ['*', stub],
    ])
    const dry = await openDryGateway('-', { cwd: '/', stdin: Readable.from([text]), env: {}, stubs, time: TIME })
    const { events } = await dry.run({ method, url: path, headers: sent })
    expect(events.map(comparable)).toEqual(live.map(comparable))
  },
)

/** Without what is another one each time: times, ports, and names of files. */
function comparable({ severity, scope, origins, message }: TraceEvent) {
  const { time: _, source: __, ...told } = message as TraceEvent['message'] & { time?: string; source?: string }
  return JSON.parse(
    JSON.stringify({ severity, scope, origins: origins.map(({ line, col }) => [line, col]), told }),
    (key, value) => (key === 'origin' ? undefined : value),
  ) as unknown
}

import { createCelCompiler } from '../../src/cel/compiler.ts'
import type { Expression, Outcome } from '../../src/cel/expression.ts'
import { bodyOf, Exchange } from '../../src/http/exchange.ts'
import { HeaderList } from '../../src/http/headers.ts'
import type { CelResult, CelScope } from '../../src/schema/builder.ts'

export const BODY = {
  model: 'gpt-4o',
  max_tokens: 2048,
  temperature: 0.5,
  stream: true,
  user: null,
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello' },
  ],
  tags: ['a', 'b', 'c'],
  nested: { deep: { leaf: 7 } },
}

export interface Given {
  readonly method?: string
  readonly path?: string
  readonly headers?: readonly string[]
  readonly body?: string | Buffer
}

/** A request as a gateway sees one: authenticated, routed, with a JSON body and repeated header fields. */
export function exchange(given: Given = {}): Exchange {
  const x = new Exchange({
    id: 'r1',
    connection: {
      id: 1,
      address: '10.1.2.3',
      port: 51000,
      localPort: 8443,
      tls: { sni: 'api.example.com', protocol: 'TLSv1.3' },
    },
    startedAt: Date.UTC(2026, 0, 15, 12, 30, 45, 250),
    startedMono: 1000,
    httpVersion: '1.1',
    request: {
      method: given.method ?? 'POST',
      scheme: 'https',
      authority: 'api.example.com:8443',
      path: given.path ?? '/v1/users/42?tag=x&tag=y&page=2',
      headers: new HeaderList(
        given.headers ?? [
          'Host',
          'api.example.com:8443',
          'Authorization',
          'Bearer top-secret-token',
          'X-User',
          'alice',
          'X-Tenant',
          'Acme-Corp',
          'X-Count',
          '12',
          'X-Multi',
          'a, b',
          'x-multi',
          'c',
          'Cookie',
          'session=s3cr3t; theme="dark"',
          'User-Agent',
          'curl/8.5.0',
          'Content-Type',
          'application/json; charset=utf-8',
        ],
      ),
    },
    body: bodyOf(typeof given.body === 'object' ? given.body : Buffer.from(given.body ?? JSON.stringify(BODY))),
  })
  x.bind = { key: 'bind/8443', port: 8443 }
  x.listener = { key: 'l', name: 'https', namespace: 'default', origin: { file: 'c.yaml', path: [] } as never }
  x.route = {
    key: 'r',
    name: 'users',
    namespace: 'team-a',
    ruleName: 'by-id',
    origin: { file: 'c.yaml', path: [] } as never,
  }
  x.backend = { name: 'users-service', kind: 'host', protocol: 'http' }
  x.auth.jwt = {
    sub: 'alice',
    iss: 'https://issuer.example.com',
    aud: ['api', 'web'],
    exp: 1800000000,
    email: 'alice@example.com',
    roles: ['admin', 'dev'],
    nested: { team: 'core', level: 3 },
    score: 0.75,
  }
  x.auth.rawToken = 'top-secret-token'
  x.auth.apiKey = { key: 'k-very-secret', owner: 'alice', tier: 'gold' }
  x.auth.basic = { username: 'alice' }
  x.metadata.color = 'blue'
  x.metadata.weights = { a: 1, b: 2 }
  x.external.extauthz = { plan: 'pro', limits: { rps: 10 } }
  return x
}

export function responded(x = exchange()): Exchange {
  x.response = {
    status: 503,
    headers: new HeaderList(['Content-Type', 'application/json', 'Retry-After', '3', 'grpc-status', '14']),
  }
  x.llm = {
    provider: 'openai',
    streaming: true,
    requestModel: 'gpt-4o',
    responseModel: 'gpt-4o-2024-08-06',
    inputTokens: 120,
    outputTokens: 30,
    totalTokens: 150,
    timeToFirstToken: 250.5,
  }
  x.mcp = { method: 'tools/call', sessionId: 'm-1', tool: { name: 'search', target: 'docs' } }
  x.attempts.push({ index: 0, target: '10.0.0.9:80', startedAt: x.startedAt, duration: 1500 })
  x.endedMono = 3000
  return x
}

const compiler = createCelCompiler({ environment: { podName: 'gw-0', namespace: 'gateways' } })

export function compile(text: string, scope: CelScope = 'request', result: CelResult = 'any'): Expression {
  const made = compiler.compile(text, scope, result)
  if ('problem' in made) throw new Error(`${text}: ${JSON.stringify(made)}`)
  return made
}

export function problemOf(text: string, scope: CelScope = 'request', result: CelResult = 'any') {
  const made = compiler.compile(text, scope, result)
  if (!('problem' in made)) throw new Error(`${text}: compiles`)
  return { kind: made.kind, ...made.problem, at: made.problem.span && text.slice(...made.problem.span) }
}

export function evaluate(
  text: string,
  scope: CelScope = 'request',
  x: Exchange = exchange(),
  result: CelResult = 'any',
): Outcome {
  return compile(text, scope, result).evaluate(x)
}

export function value(text: string, scope: CelScope = 'request', x: Exchange = exchange()): unknown {
  const outcome = evaluate(text, scope, x)
  if (!outcome.ok) throw new Error(`${text}: ${outcome.error}`)
  return outcome.value
}

import { X509Certificate } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createCelCompiler } from '../../src/cel/compiler.ts'
import { fieldNames, VARIABLES, type VariableField, variableAt, visible } from '../../src/cel/variables.ts'
import { Exchange } from '../../src/http/exchange.ts'
import type { CelScope } from '../../src/schema/builder.ts'
import { compile, exchange, value } from './exchange-fixture.ts'

/** Self-signed, CN=client-a, O=Example, one SPIFFE and one DNS name. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIB7jCCAZSgAwIBAgIUb8EQW6oU2KWfonb6QX7jIADduS4wCgYIKoZIzj0EAwIw
JTEQMA4GA1UECgwHRXhhbXBsZTERMA8GA1UEAwwIY2xpZW50LWEwIBcNMjYxMTIx
MTQzNDM3WhgPMjEyNjEwMjgxNDM0MzdaMCUxEDAOBgNVBAoMB0V4YW1wbGUxETAP
BgNVBAMMCGNsaWVudC1hMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEnjfpO0Ts
WS4E4QvhetzYJ1A2+oq1lFLGs9nlDuA6CWS4vFnoxR1ZFgInosQEzZb/4DzBUaMV
XCHGM8FW37/hQKOBnzCBnDAdBgNVHQ4EFgQU6ToFCJOPyXZxEBoWIX2vpK730c4w
HwYDVR0jBBgwFoAU6ToFCJOPyXZxEBoWIX2vpK730c4wDwYDVR0TAQH/BAUwAwEB
/zBJBgNVHREEQjBAhipzcGlmZmU6Ly9jbHVzdGVyLmxvY2FsL25zL3RlYW0tYS9z
YS9jbGllbnSCEmNsaWVudC5leGFtcGxlLmNvbTAKBggqhkjOPQQDAgNIADBFAiEA
4yacn1c6MCbTmauy1i1zbTvFt3HflqZPdVQD+YHO7rACIETccaX+OYOGU9bvfhHO
g2t9MIqPVebrvYagVPG10HVO
-----END CERTIFICATE-----
`

function* everyField(path: string, entry: VariableField): Generator<readonly [string, VariableField]> {
  yield [path, entry]
  if (typeof entry.type === 'string') return
  for (const [name, field] of Object.entries<VariableField>(entry.type)) yield* everyField(`${path}.${name}`, field)
}

const SCOPES: CelScope[] = ['connection', 'request', 'llmRequest', 'mcp', 'response', 'usage', 'log', 'target']

describe('the variable table', () => {
  it('describes every variable and field in a full sentence', () => {
    for (const variable of VARIABLES) {
      for (const [path, { doc }] of everyField(variable.name, variable)) expect(doc, path).toMatch(/^[A-Z`].*\.$/)
    }
  })

  it.each(SCOPES)('matches the names available to expressions in %s', scope => {
    for (const variable of VARIABLES) {
      for (const [path, field] of everyField(variable.name, variable)) {
        const parents = path.split('.').map((_, i, parts) => variableAt(parts.slice(0, i + 1).join('.')))
        const expected = parents.every(parent => parent && visible(parent, scope)) && visible(field, scope)
        const made = createCompiled(path, scope)
        expect(!('problem' in made), `${path} in ${scope}`).toBe(expected)
      }
    }
  })

  it('finds entries by path', () => {
    expect(variableAt('proxy.route.name')?.type).toBe('string')
    expect(variableAt('proxy.route.constructor')).toBeUndefined()
    expect(variableAt('jwt.sub')).toBeUndefined()
    expect(fieldNames('basicAuth')).toEqual(['username'])
  })
})

const compiler = createCelCompiler()
function createCompiled(text: string, scope: CelScope) {
  return compiler.compile(text, scope, 'any')
}

describe('the client certificate', () => {
  function withCertificate(): Exchange {
    const from = exchange()
    const certificate = new X509Certificate(CERTIFICATE).raw
    return new Exchange({
      id: from.id,
      connection: { ...from.connection, tls: { sni: 'a', protocol: 'TLSv1.3', certificate } },
      startedAt: 0,
      startedMono: 0,
      httpVersion: '2.0',
      request: from.request,
      body: from.body,
    })
  }

  it.each([
    ['source.spiffeId', 'spiffe://cluster.local/ns/team-a/sa/client'],
    ['source.identity.namespace', 'team-a'],
    ['source.identity', { trustDomain: 'cluster.local', namespace: 'team-a', serviceAccount: 'client' }],
    ['source.subjectCn', 'client-a'],
    ['source.subject', 'CN=client-a,O=Example'],
    ['source.issuer == source.subject', true],
    ['source.subjectAltNames', ['spiffe://cluster.local/ns/team-a/sa/client', 'client.example.com']],
    ['source.certificate', CERTIFICATE],
    ['request.version', 'HTTP/2.0'],
  ])('%s', (text, expected) => {
    expect(value(text, 'request', withCertificate())).toEqual(expected)
  })

  it('is absent on a connection without a certificate', () => {
    expect(value('has(source.subject) || has(source.identity.namespace)')).toBe(false)
  })
})

describe('hidden header fields', () => {
  it('include credentials and the configured sensitive headers', () => {
    const made = createCelCompiler({ sensitiveHeaders: ['X-Tenant'] }).compile(
      'toJson(request.headers.redacted()) + request.headers.redacted().cookie("session")',
      'log',
      'string',
    )
    if ('problem' in made) throw new Error(made.problem.message)
    const { value: shown } = made.evaluate(exchange()) as { value: string }
    expect(shown).not.toMatch(/top-secret|s3cr3t|Acme/)
    expect(shown).toContain('"x-user":"alice"')
  })

  it('are hidden by `redacted()` only', () => {
    expect(compile('request.headers.authorization').evaluate(exchange())).toEqual({
      ok: true,
      value: 'Bearer top-secret-token',
    })
  })
})

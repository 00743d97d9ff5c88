import { describe, expect, test } from 'vitest'
import {
  boolean,
  cel,
  def,
  integer,
  list,
  map,
  object,
  oneOf,
  opt,
  req,
  type Schema,
  secret,
  shapes,
  string,
} from '../../src/schema/builder.ts'
import { Placeholder } from '../../src/schema/placeholder.ts'
import { byteSize, duration, fileOrInline, hostPort, httpAddress } from '../../src/schema/scalars.ts'
import { put, valueAt } from './mutations.ts'
import { decodeStandalone, decodeWith, inShort, readFixtures } from './standalone-file.ts'

const fixtures = { ok: readFixtures('ok'), err: readFixtures('err') }
const full = fixtures.ok.find(fixture => fixture.name === 'full.yaml')!.document

type Path = readonly (string | number)[]
/** `binds.0.port` → its steps. */
const steps = (path: string): Path => path.split('.').map(step => (/^\d+$/.test(step) ? Number(step) : step))
const set = (path: string, value: unknown) => (document: unknown) => put(document, steps(path), value)
const drop = (path: string) => set(path, undefined)
const rename = (path: string, name: string) => (document: unknown) => {
  const at = steps(path)
  const parent = at.slice(0, -1)
  const { [at.at(-1) as string]: value, ...rest } = valueAt(document, parent) as Record<string, unknown>
  return put(document, parent, { ...rest, [name]: value })
}

const LISTENER = 'binds.0.listeners.0'
const ROUTE = `${LISTENER}.routes.0`
const POLICIES = `${ROUTE}.policies`
const BACKEND = `${ROUTE}.backends.0`
const MCP = 'backends.1.mcp'

/** One change to a valid file, and the one finding that it must give. */
const MISTAKES: readonly [change: (document: unknown) => unknown, finding: string][] = [
  // a misspelt key
  [rename('binds', 'bind'), 'GW102 bind'],
  [rename('frontendPolicies', 'frontendPolicy'), 'GW102 frontendPolicy'],
  [rename('config.adminAddr', 'adminAddress'), 'GW102 config.adminAddress'],
  [rename('binds.0.port', 'prot'), 'GW102 binds.0.prot'],
  [rename('binds.0.listeners', 'listener'), 'GW102 binds.0.listener'],
  [rename(`${LISTENER}.hostname`, 'hostName'), `GW102 ${LISTENER}.hostName`],
  [rename(`${LISTENER}.policies.cors.maxAge`, 'maxage'), `GW102 ${LISTENER}.policies.cors.maxage`],
  [rename(`${ROUTE}.matches.0.path.pathPrefix`, 'prefix'), `GW102 ${ROUTE}.matches.0.path.prefix`],
  [rename(`${ROUTE}.matches.0.headers.0.name`, 'nam'), `GW102 ${ROUTE}.matches.0.headers.0.nam`],
  [rename(`${POLICIES}.jwtAuth.issuer`, 'isuer'), `GW102 ${POLICIES}.jwtAuth.isuer`],
  [rename(`${POLICIES}.authorization.rules`, 'rule'), `GW102 ${POLICIES}.authorization.rule`],
  [rename(`${BACKEND}.host`, 'hots'), `GW102 ${BACKEND}.hots`],
  [rename(`${BACKEND}.policies.backendTLS`, 'backendTls'), `GW102 ${BACKEND}.policies.backendTls`],
  [rename(`${BACKEND}.policies.backendTLS.hostname`, 'sni'), `GW102 ${BACKEND}.policies.backendTLS.sni`],
  [rename(`${MCP}.targets.0.stdio.cmd`, 'command'), `GW102 ${MCP}.targets.0.stdio.command`],
  [rename('backends.2.ai.provider.openAI', 'openai'), 'GW102 backends.2.ai.provider.openai'],
  [rename('policies.0.target.route', 'rout'), 'GW102 policies.0.target.rout'],
  [set(`${LISTENER}.policies.retry`, { attempts: 2 }), `GW102 ${LISTENER}.policies.retry`],
  [set(`${BACKEND}.policies.cors`, {}), `GW102 ${BACKEND}.policies.cors`],
  [set(`${ROUTE}.timeout`, { requestTimeout: '1s' }), `GW102 ${ROUTE}.timeout`],
  // a wrong type
  [set('binds', {}), 'GW101 binds'],
  [set('binds.0.port', '8080'), 'GW101 binds.0.port'],
  [set('binds.0.port', 80.5), 'GW101 binds.0.port'],
  [set(`${LISTENER}.hostname`, 1), `GW101 ${LISTENER}.hostname`],
  [set(`${LISTENER}.routes`, 'all'), `GW101 ${LISTENER}.routes`],
  [set(`${ROUTE}.hostnames`, 'api.example.com'), `GW101 ${ROUTE}.hostnames`],
  [set(`${ROUTE}.matches.0.path`, '/api'), `GW101 ${ROUTE}.matches.0.path`],
  [set(`${POLICIES}.jwtAuth.audiences`, 'api'), `GW101 ${POLICIES}.jwtAuth.audiences`],
  [set(`${POLICIES}.retry.codes.0`, '502'), `GW101 ${POLICIES}.retry.codes.0`],
  [set(`${BACKEND}.policies.backendTLS`, true), `GW101 ${BACKEND}.policies.backendTLS`],
  [set(`${BACKEND}.policies.backendAuth.key`, 42), `GW101 ${BACKEND}.policies.backendAuth.key`],
  [set(`${POLICIES}.requestHeaderModifier.set`, ['x-a']), `GW101 ${POLICIES}.requestHeaderModifier.set`],
  [set('config', 'info'), 'GW101 config'],
  [set('gateways', []), 'GW101 gateways'],
  [set(`${MCP}.targets.0.stdio.args`, '-y'), `GW101 ${MCP}.targets.0.stdio.args`],
  // a required field that is not there
  [drop('binds.0.listeners'), 'GW103 binds.0.listeners'],
  [drop(`${ROUTE}.matches.0.headers.0.value`), `GW103 ${ROUTE}.matches.0.headers.0.value`],
  [drop('backends.0.name'), 'GW103 backends.0.name'],
  [drop(`${MCP}.targets`), `GW103 ${MCP}.targets`],
  [drop(`${MCP}.targets.0.name`), `GW103 ${MCP}.targets.0.name`],
  [drop(`${MCP}.targets.0.stdio.cmd`), `GW103 ${MCP}.targets.0.stdio.cmd`],
  [drop('policies.0.target'), 'GW103 policies.0.target'],
  [drop('gateways.default.port'), 'GW103 gateways.default.port'],
  [drop('policies.0.policy.delay.duration'), 'GW103 policies.0.policy.delay.duration'],
  // a value that is not one of those allowed
  [set(`${LISTENER}.protocol`, 'HTPP'), `GW104 ${LISTENER}.protocol`],
  [set(`${POLICIES}.jwtAuth.mode`, 'lax'), `GW104 ${POLICIES}.jwtAuth.mode`],
  [set(`${BACKEND}.policies.http.version`, 'HTTP/3'), `GW104 ${BACKEND}.policies.http.version`],
  [set('config.logging.format', 'xml'), 'GW104 config.logging.format'],
  [set('policies.0.phase', 'first'), 'GW104 policies.0.phase'],
  // out of range
  [set('binds.0.port', 70_000), 'GW105 binds.0.port'],
  [set(`${BACKEND}.weight`, -1), `GW105 ${BACKEND}.weight`],
  [set(`${POLICIES}.retry.attempts`, 0), `GW105 ${POLICIES}.retry.attempts`],
  [
    set(`${LISTENER}.routes.1.policies.directResponse.status`, 99),
    `GW105 ${LISTENER}.routes.1.policies.directResponse.status`,
  ],
  [set('gateways.default.port', 0), 'GW105 gateways.default.port'],
  // not written in the right form
  [set(`${POLICIES}.timeout.requestTimeout`, 30), `GW106 ${POLICIES}.timeout.requestTimeout`],
  [set(`${POLICIES}.timeout.requestTimeout`, '30 s'), `GW106 ${POLICIES}.timeout.requestTimeout`],
  [set(`${BACKEND}.host`, 'http://a.example.com'), `GW106 ${BACKEND}.host`],
  [set(`${BACKEND}.host`, 'a.example.com'), `GW106 ${BACKEND}.host`],
  [set(`${BACKEND}.host`, 'a.example.com:0'), `GW106 ${BACKEND}.host`],
  [set(`${ROUTE}.hostnames.0`, 'api.example.com:80'), `GW106 ${ROUTE}.hostnames.0`],
  [set(`${ROUTE}.matches.0.method`, 'get'), `GW106 ${ROUTE}.matches.0.method`],
  [set(`${POLICIES}.buffer.request.maxBytes`, '64kb'), `GW106 ${POLICIES}.buffer.request.maxBytes`],
  [set('config.session.key', 'short'), 'GW106 config.session.key'],
  [set(`${MCP}.targets.0.name`, 'my_tools'), `GW106 ${MCP}.targets.0.name`],
  // none or several of which one belongs here
  [drop(`${BACKEND}.host`), `GW107 ${BACKEND}.host`],
  [drop(`${ROUTE}.matches.0.headers.0.value.exact`), `GW107 ${ROUTE}.matches.0.headers.0.value.exact`],
  [drop(`${MCP}.targets.0.stdio`), `GW107 ${MCP}.targets.0.mcp`],
  [drop(`${BACKEND}.policies.backendAuth.key`), `GW107 ${BACKEND}.policies.backendAuth.key`],
  [set(`${BACKEND}.backend`, '/named'), `GW108 ${BACKEND}.backend`],
  [set(`${ROUTE}.matches.0.path.exact`, '/api'), `GW108 ${ROUTE}.matches.0.path.exact`],
  [set(`${BACKEND}.policies.backendAuth.passthrough`, {}), `GW108 ${BACKEND}.policies.backendAuth.passthrough`],
  [set(`${LISTENER}.tcpRoutes`, []), `GW108 ${LISTENER}.tcpRoutes`],
  // too few, too many, too short
  [set(`${MCP}.targets`, []), `GW109 ${MCP}.targets`],
  [set(`${ROUTE}.matches`, []), `GW109 ${ROUTE}.matches`],
  [set(`${ROUTE}.name`, ''), `GW110 ${ROUTE}.name`],
  [set(`${POLICIES}.authorization.rules.0`, ''), `GW110 ${POLICIES}.authorization.rules.0`],
  // right one by one, wrong together
  [set(`${BACKEND}.policies.backendTLS.cert`, 'a.pem'), `GW111 ${BACKEND}.policies.backendTLS.cert`],
  [drop(`${POLICIES}.jwtAuth.jwks`), `GW111 ${POLICIES}.jwtAuth.`],
  // patterns, empty values, expressions
  [set(`${ROUTE}.matches.0.query.0.value.regex`, '['), `GW112 ${ROUTE}.matches.0.query.0.value.regex`],
  [set(`${ROUTE}.backends`, null), `GW113 ${ROUTE}.backends`],
  [set(`${BACKEND}.host`, null), `GW113 ${BACKEND}.host`],
  [set(`${POLICIES}.authorization.rules.1.deny`, 'request.path =='), `GW301 ${POLICIES}.authorization.rules.1.deny`],
  [
    set('frontendPolicies.networkAuthorization.rules.0.deny', '"text"'),
    'GW302 frontendPolicies.networkAuthorization.rules.0.deny',
  ],
]

test('the sample config is valid and fully supported', () => {
  expect(inShort(decodeStandalone(full).errors)).toEqual([])
  expect(inShort(decodeStandalone(full).unserved)).toEqual([])
})

describe('one mistake yields one finding', () => {
  test.each(MISTAKES.map(([change, finding]) => [finding, change] as const))('%s', (finding, change) => {
    const [found, ...others] = decodeStandalone(change(full)).errors
    expect([`${found?.code} ${found?.path.join('.')}`, ...inShort(others)]).toEqual([finding])
  })
})

describe('fixture files', () => {
  test.each(fixtures.ok.map(fixture => [fixture.name, fixture] as const))('ok/%s', (_name, { document }) => {
    expect(inShort(decodeStandalone(document).errors)).toEqual([])
  })
  test.each(fixtures.err.map(fixture => [fixture.name, fixture] as const))('err/%s', (_name, { document, code }) => {
    expect(decodeStandalone(document).errors.map(finding => finding.code)).toEqual([code])
  })
})

describe('help texts', () => {
  test.each([
    [
      `${LISTENER}.routes`,
      { matches: [] },
      'put `- ` before the first key of each item, or `[…]` around a map on one line',
    ],
    [`${ROUTE}.hostnames`, 'api.example.com', 'put it in brackets, or on the next line after `- `'],
    [`${ROUTE}.policies.timeout`, 'requestTimeout 5s', 'a colon is missing: write `requestTimeout: …`'],
    [`${ROUTE}.policies.timeout`, 'requestTimeout:5s', 'a space is missing after the colon: write `requestTimeout: …`'],
    [
      `${ROUTE}.policies.timeout`,
      'https://example.com',
      'write a map with fields of it: `requestTimeout`, `backendRequestTimeout`',
    ],
    // Text where a secret may stand is not repeated.
    [`${ROUTE}.policies.requestHeaderModifier.set`, 'x-key:abc', 'a space is missing after the colon'],
  ])('%s: %j', (path, value, help) => expect(decodeStandalone(set(path, value)(full)).errors[0]?.help).toBe(help))

  const ofKey = (path: string, key: string) => {
    const [error] = decodeStandalone(set(`${path}.${key}`, {})(full)).errors
    return { help: error?.help, fix: error?.fix?.with }
  }

  test('a field of a nested object is not a misspelling, but a missing plural is', () => {
    const { frontendPolicies: _, ...rest } = full as Record<string, unknown>
    const [error] = decodeStandalone({ ...rest, tcp: {} }).errors
    expect(error).toMatchObject({ code: 'GW102', help: 'move `tcp` into `frontendPolicies`' })
    expect(error?.fix).toBeUndefined()
    const { backends: __, ...others } = full as Record<string, unknown>
    const plural = decodeStandalone({ ...others, backend: [] }).errors.find(({ path }) => path[0] === 'backend')
    expect(plural).toMatchObject({ help: 'did you mean `backends`?', fix: { with: 'backends' } })
  })

  test('a field of a deeper object is not renamed, however similar another name is', () => {
    const key = 'includeResponseHeaders'
    expect(ofKey(`${POLICIES}.extAuthz`, key)).toEqual({
      help: 'move `includeResponseHeaders` into `protocol.http`',
      fix: undefined,
    })
  })

  test.each([
    ['retry {attempts', 'a colon is missing: write `retry: {`'],
    ['retry:{attempts', 'a space is missing after the colon: write `retry: {`'],
  ])('a key that runs into a map is not renamed: %s', (key, help) => {
    expect(ofKey(POLICIES, key)).toEqual({ help, fix: undefined })
  })

  test('a number in place of a secret is not repeated', () => {
    const [error] = decodeStandalone(set(`${BACKEND}.policies.backendAuth.key`, 12345678)(full)).errors
    expect(error?.code).toBe('GW101')
    expect(JSON.stringify(error)).not.toContain('12345678')
  })

  const helpFor = (path: string, value: unknown) => decodeStandalone(set(path, value)(full)).errors[0]?.help
  test('suggests quotes for a path used as an expression', () => {
    const at = `${POLICIES}.transformations.response.set.x-route`
    expect(helpFor(at, '/v1/chat')).toBe(`a string literal needs quotes inside an expression: '"/v1/chat"'`)
  })
  test('suggests a fraction for a percentage', () => {
    const mirror = { backend: { host: 'a:80' }, percentage: 50 }
    expect(helpFor(`${POLICIES}.requestMirror`, mirror)).toBe('it is a fraction: `0.5` for 50 %')
  })
})

describe('decoded values', () => {
  const value = <T>(schema: Schema<T>, raw: unknown) => {
    const { value: decoded, errors } = decodeWith(schema, raw)
    return errors.length > 0 ? inShort(errors) : decoded
  }

  test('defaults are decoded like explicit values', () => {
    const schema = object('thing', { wait: def(duration, '1m30s', 'Wait.'), names: def(list(string()), [], 'Names.') })
    expect(value(schema, {})).toEqual({ wait: 90_000, names: [] })
    expect(value(schema, { wait: '0' })).toEqual({ wait: 0, names: [] })
  })

  test('a field keeps its canonical name under every alias', () => {
    const schema = object('thing', { maxVersion: req(integer(), 'Max.', { aliases: ['max'] }) })
    expect(value(schema, { max: 3 })).toEqual({ maxVersion: 3 })
    expect(value(schema, { max: 3, maxVersion: 3 })).toEqual(['GW108 maxVersion'])
  })

  test('a bad item of an isolating list does not affect the others', () => {
    const schema = list(object('item', { port: req(integer(1, 9), 'Port.') }), { isolate: true })
    const { value: decoded, errors } = decodeWith(schema, [{ port: 1 }, { port: 10 }, { prot: 2 }, { port: 3 }])
    expect(decoded).toEqual([{ port: 1 }, { port: 3 }])
    expect(inShort(errors)).toEqual(['GW105 [1].port', 'GW102 [2].prot'])
  })

  test('maps accept any key and inherit nothing', () => {
    const decoded = value(map(integer()), JSON.parse('{"__proto__": 1, "constructor": 2}')) as object
    expect(Object.keys(decoded)).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(decoded)).toBe(null)
  })

  test('an inherited object key is not a field', () => {
    expect(value(object('thing', {}), JSON.parse('{"constructor": 1}'))).toEqual(['GW102 constructor'])
    expect(value(oneOf(['a'], {}), 'constructor')).toEqual(['GW104 '])
  })

  test('an unset variable is accepted for every scalar', () => {
    const unset = new Placeholder('NAME', '$NAME')
    const all = {
      text: req(string({ min: 9 }), 'Text.'),
      secret: req(secret({ pattern: /^[0-9a-f]{64}$/ }), 'Secret.'),
      port: req(integer(1, 65_535), 'Port.'),
      flag: req(boolean, 'Flag.'),
      mode: req(oneOf(['a', 'b']), 'Mode.'),
      wait: req(duration, 'Wait.'),
      size: req(byteSize, 'Size.'),
      host: req(hostPort, 'Host.'),
      rule: req(cel('request', 'bool'), 'Rule.'),
      key: req(fileOrInline({ secret: true }), 'Key.'),
      either: req(shapes({ number: integer(), list: list(string()) }), 'Either.'),
    }
    const raw = Object.fromEntries(Object.keys(all).map(key => [key, unset]))
    expect(inShort(decodeWith(object('all', all), raw).errors)).toEqual([])
    expect(inShort(decodeWith(list(string()), unset).errors)).toEqual(['GW101 '])
  })

  test('a shorthand is selected by value type, and its errors refer to that form', () => {
    const inner = object('long form', { port: req(integer(1, 9), 'Port.'), name: opt(string(), 'Name.') })
    const schema = shapes({ number: integer(1, 9), object: inner })
    expect(value(schema, 3)).toBe(3)
    expect(value(schema, { port: 3 })).toEqual({ port: 3 })
    expect(value(schema, { port: 30 })).toEqual(['GW105 port'])
    expect(value(schema, 'x')).toEqual(['GW101 '])
  })

  test.each([
    ['1h30m', 5_400_000],
    ['1.5s', 1500],
    ['250ms', 250],
    ['100us', 0.1],
    ['0', 0],
    ['30', ['GW106 ']],
    ['-1s', ['GW106 ']],
    ['1s ', ['GW106 ']],
    ['1d', ['GW106 ']],
    [30, ['GW106 ']],
    [true, ['GW101 ']],
  ])('duration %j', (raw, expected) => expect(value(duration, raw)).toEqual(expected))

  test.each([
    [4096, 4096],
    ['4096', 4096],
    ['2Mi', 2_097_152],
    ['10k', 10_000],
    ['1.5Ki', 1536],
    ['1e3', 1000],
    ['100m', 1],
    ['2MB', ['GW106 ']],
    ['-1', ['GW106 ']],
    [-1, ['GW105 ']],
    [1.5, ['GW101 ']],
  ])('size %j', (raw, expected) => expect(value(byteSize, raw)).toEqual(expected))

  test.each([
    ['a.example.com:80', { host: 'a.example.com', port: 80 }],
    ['[::1]:8080', { host: '::1', port: 8080 }],
    ['unix:/run/x.sock', { host: 'localhost', port: 0, unixPath: '/run/x.sock' }],
    ['::1:80', ['GW106 ']],
    ['a:99999', ['GW106 ']],
    ['a', ['GW106 ']],
    ['a b:80', ['GW106 ']],
    ['unix:', ['GW106 ']],
  ])('host and port %j', (raw, expected) => expect(value(hostPort, raw)).toEqual(expected))

  test.each([
    ['https://a.example.com', { scheme: 'https', host: 'a.example.com', port: 443 }],
    ['http://[::1]', { scheme: 'http', host: '::1', port: 80 }],
    ['HTTPS://a:8443/', { scheme: 'https', host: 'a', port: 8443 }],
    ['a:9000', { scheme: undefined, host: 'a', port: 9000 }],
    ['http://a/path', ['GW106 ']],
    ['ftp://a', ['GW106 ']],
    ['http://user@a', ['GW106 ']],
  ])('address %j', (raw, expected) => expect(value(httpAddress, raw)).toEqual(expected))
})

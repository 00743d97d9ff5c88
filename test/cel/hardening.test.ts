import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createCelCompiler } from '../../src/cel/compiler.ts'
import { compile, evaluate, exchange, responded, value } from './exchange-fixture.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** A small generator of its own, so that a failure repeats. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** JSON whose shape is new each time, deep along its first elements: there the library would intern a type per level. */
function randomShape(random: () => number): unknown {
  let shape: unknown = Math.floor(random() * 10)
  for (let depth = 0; depth < 40; depth++) {
    const other = [1, 'x', null, 0.5][Math.floor(random() * 4)]
    shape = random() < 0.5 ? [shape, other] : { [`k${Math.floor(random() * 1e9)}`]: shape, other }
  }
  return shape
}

function heapUsed(): number {
  for (let i = 0; i < 3; i++) collect()
  return process.memoryUsage().heapUsed
}

describe('memory', () => {
  it('does not grow with the variety of client JSON', () => {
    const rules = [
      'json(request.body).x == "y"',
      'json(request.body) == {"a": [1, {"b": 2}]}',
      '"k" in json(request.body)',
      'toJson(json(request.body)) != ""',
      'json(request.body).map(k, json(request.body)[k])',
      'json(request.body).mapValues(v, [v]).with(m, [m, {"a": m}])',
      'json(request.body).merge({"a": 1}).filterKeys(k, k != "a")',
      'size(json(request.body)) > 0 && type(json(request.body)) == map',
      'json(request.body).root.size() > 0 || "a" in json(request.body).list',
      'json(request.body).list + [1] == json(request.body).list',
      '[json(request.body), json(request.body).map(k, [json(request.body)[k]])] + []',
      'default(json(request.body).a.b, json(request.body))',
    ].map(text => compile(text))
    const random = randomFrom(7)
    const round = (times: number) => {
      for (let i = 0; i < times; i++) {
        const x = exchange({ body: JSON.stringify({ root: randomShape(random), list: [randomShape(random)] }) })
        for (const rule of rules) rule.evaluate(x)
      }
    }
    round(60)
    const before = heapUsed()
    round(300)
    expect(heapUsed() - before).toBeLessThan(1_000_000)
  })

  it('does not grow with deeply nested bodies, which are not traversed', () => {
    const deep = `${'{"a":'.repeat(8000)}1${'}'.repeat(8000)}`
    const rules = [
      'json(request.body).a.a.a == 1',
      'toJson(json(request.body))',
      'json(request.body) == json(string(request.body))',
    ].map(text => compile(text))
    const round = () => rules.map(rule => rule.evaluate(exchange({ body: deep })))
    round()
    const before = heapUsed()
    for (let i = 0; i < 20; i++) round()
    expect(heapUsed() - before).toBeLessThan(1_000_000)
    const outcomes = round()
    expect(outcomes[0]).toEqual({ ok: true, value: false })
    expect(outcomes[1]).toMatchObject({ ok: false, error: 'the data is nested too deeply' })
    expect(outcomes[2]).toMatchObject({ ok: false, error: 'the data is nested too deeply' })
  })

  it('releases the request after each evaluation', async () => {
    const rules = [
      'metadata.items.exists(i, i.x == request.path)',
      'metadata.items.map(i, {"i": i})',
      'metadata.with(m, m.items.filter(i, i.x == "q"))',
      'cel.bind(m, metadata, m.items[0])',
      'metadata.mapValues(v, v)',
      'json(request.body)',
      'variables()',
    ].map(text => compile(text))
    const held = rules.flatMap(rule => {
      const body = Buffer.from('{"items":[{"x":"y"}]}')
      const item = { x: 'y' }
      const x = exchange({ body })
      x.metadata.items = [item]
      expect(rule.evaluate(x).ok).toBe(true)
      return [new WeakRef<object>(body), new WeakRef<object>(item), new WeakRef<object>(x)]
    })
    await new Promise(setImmediate)
    collect()
    expect(held.map(each => each.deref())).toEqual(held.map(() => undefined))
    expect(rules).toHaveLength(7)
  })
})

describe('evaluation budgets', () => {
  const many = JSON.stringify(Array.from({ length: 200 }, (_, i) => i))

  it.each([
    ['nested loops', 'json(request.body).all(a, json(request.body).all(b, json(request.body).all(c, a + b + c >= 0)))'],
    [
      'absorbed by ||',
      'json(request.body).exists(a, json(request.body).all(b, json(request.body).all(c, c >= 0)) && false) || true',
    ],
    [
      'absorbed by coalesce',
      'coalesce(json(request.body).map(a, json(request.body).map(b, json(request.body).map(c, c))), 1)',
    ],
    [
      'absorbed by default',
      'default(json(request.body).map(a, json(request.body).map(b, json(request.body).map(c, c))), 1)',
    ],
    [
      'absorbed by an optional',
      'optional.of(1).or({"a": 1}.?b).hasValue() && json(request.body).all(a, json(request.body).all(b, json(request.body).all(c, true)))',
    ],
  ])('%s', (_, text) => {
    expect(evaluate(text, 'request', exchange({ body: many }))).toMatchObject({
      ok: false,
      error: 'the expression takes too many steps',
    })
  })

  it('cover parsing a large body repeatedly', () => {
    const body = JSON.stringify({ list: Array.from({ length: 1000 }, (_, i) => i), pad: 'x'.repeat(500_000) })
    const text = 'json(request.body).list.exists(i, json(string(request.body)).list[0] == -1)'
    expect(evaluate(text, 'request', exchange({ body }))).toMatchObject({ ok: false })
  })

  it('cover iterating over one huge list', () => {
    const body = `[${'0,'.repeat(150_000)}0]`
    expect(evaluate('json(request.body).all(i, i == 0)', 'request', exchange({ body }))).toMatchObject({ ok: false })
    expect(value('size(json(request.body))', 'request', exchange({ body }))).toBe(150_001)
  })

  it('limit the growth of chained replacements', () => {
    const grow = '.replace("a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")'.repeat(8)
    expect(evaluate(`"a"${grow}`)).toMatchObject({ ok: false, error: 'the value is too large' })
  })

  it('reset for each evaluation', () => {
    const rule = compile('json(request.body).all(a, json(request.body).all(b, a + b >= 0))')
    for (let i = 0; i < 5; i++) expect(rule.evaluate(exchange({ body: many }))).toEqual({ ok: true, value: true })
  })
})

describe('secrets', () => {
  const SECRET = /top-secret|s3cr3t|very-secret|alice@example|Bearer/

  it.each([
    'request.headers[request.headers.authorization]',
    'jwt[jwt.email]',
    'jwt.roles[jwt.email]',
    'int(request.headers.authorization)',
    'bool(request.headers.authorization)',
    'timestamp(jwt.email)',
    'duration(jwt.email)',
    'json(request.headers.authorization)',
    'fail(jwt.email)',
    'ip(jwt.email)',
    '"x".matches(request.headers.authorization + "(")',
    'request.headers.authorization + 1',
    'request.headers.authorization && true',
    'request.headers.authorization ? 1 : 2',
    'jwt.email < 1',
    'jwt.exists(x, x / 0 == 1)',
    '{"a": jwt}.a.nope',
    'base64.decode(jwt.email)',
    'request.headers.cookie(jwt.email)',
    'request.uri.query(jwt.email)',
    'jwt.email.substring(99)',
    'jwt.email.foo',
    'dyn(jwt.rawToken.unredacted()).foo.bar',
  ])('%s fails without revealing a value', text => {
    const outcome = evaluate(text)
    expect(outcome.ok).toBe(false)
    expect(JSON.stringify(outcome)).not.toMatch(SECRET)
  })

  it.each([
    'jwt',
    'apiKey',
    'variables().jwt',
    'variables().apiKey',
    'toJson([jwt, apiKey])',
    '[jwt.rawToken, apiKey.key]',
    'jwt.merge({})',
    'flattenRecursive({"a": jwt})',
    'jwt.mapValues(v, v)',
  ])('%s prints credentials as <redacted>', text => {
    const shown = JSON.stringify(value(text))
    expect(shown).toContain('<redacted>')
    expect(shown).not.toMatch(/top-secret-token|k-very-secret/)
  })

  it('a redacted value never equals a guess', () => {
    expect(value('jwt.rawToken == "top-secret-token"')).toBe(false)
    expect(value('jwt.rawToken in ["top-secret-token"]')).toBe(false)
  })
})

describe('prototypes', () => {
  it.each([
    'jwt.constructor',
    'jwt.__proto__',
    'jwt["constructor"]',
    'jwt["__proto__"]',
    'jwt.toString',
    'jwt.get',
    'jwt.size',
    'jwt.roles.length',
    'jwt.roles["length"]',
    'jwt.roles.map',
    'jwt.roles.constructor',
    'json(request.body).__proto__',
    'json(request.body).hasOwnProperty',
    'request.headers.constructor',
    'request.headers["__proto__"]',
    'metadata.constructor',
    '{"a": 1}["constructor"]',
    '{"a": 1}["toString"]',
    'jwt.email.length',
    'jwt.email.constructor',
    'request["entries"]',
    'request[jwt.sub]',
    'variables()["constructor"]',
    'ip("1.2.3.4").bits',
    'cidr("1.2.3.4/8")["prefix"]',
    'request.body.length',
    'jwt.rawToken.reveal',
  ])('%s is not accessible', text => {
    const compiled = createCelCompiler().compile(text, 'request', 'any')
    if ('problem' in compiled) return
    expect(compiled.evaluate(exchange())).toMatchObject({ ok: false })
  })

  it.each(['constructor', 'toString', '__proto__', 'prototype', 'globalThis', 'process', 'hasOwnProperty'])(
    'the variable %s does not exist',
    text => {
      expect(createCelCompiler().compile(text, 'request', 'any')).toHaveProperty('problem')
    },
  )

  it('a body may hold such names as data, without side effects', () => {
    const x = exchange({ body: '{"__proto__": {"polluted": 1}, "constructor": "c"}' })
    expect(value('json(request.body).constructor', 'request', x)).toBe('c')
    const copy = value('json(request.body)', 'request', x) as Record<string, unknown>
    expect(Object.keys(copy)).toEqual(['__proto__', 'constructor'])
    expect(copy.polluted).toBeUndefined()
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
})

describe('evaluation', () => {
  it('never throws and restores the stack trace limit', () => {
    const before = Error.stackTraceLimit
    for (const text of ['jwt.nope', '1 / 0', 'fail("x")', 'jwt.sub']) evaluate(text)
    expect(Error.stackTraceLimit).toBe(before)
  })

  it('reads the current state of the request', () => {
    const rule = compile('request.headers["x-user"] + request.path')
    const x = exchange()
    expect(rule.evaluate(x)).toEqual({ ok: true, value: 'alice/v1/users/42' })
    x.request.headers.set('x-user', 'bob')
    x.request.path = '/other?q=1'
    expect(rule.evaluate(x)).toEqual({ ok: true, value: 'bob/other' })
  })

  it('keeps two compilers independent', () => {
    const [a, b] = [
      createCelCompiler({ environment: { gateway: 'a' } }),
      createCelCompiler({ environment: { gateway: 'b' } }),
    ]
    const names = [a, b].map(compiler => {
      const made = compiler.compile('env.gateway', 'request', 'string')
      return 'problem' in made ? made : made.evaluate(exchange())
    })
    expect(names).toEqual([
      { ok: true, value: 'a' },
      { ok: true, value: 'b' },
    ])
  })

  it('prefers variables from the caller over those of the exchange', () => {
    const tool = compile('mcp.tool.name == "search" && mcp.tool.target == "docs"', 'mcp', 'bool')
    expect(tool.evaluate(exchange(), { mcp: { tool: { name: 'search', target: 'docs' } } })).toEqual({
      ok: true,
      value: true,
    })
    expect(tool.evaluate(exchange())).toMatchObject({ ok: false })
    const model = compile('llmRequest.model.startsWith("gpt") && size(llmRequest.messages) == 1', 'llmRequest', 'bool')
    expect(model.evaluate(exchange(), { llmRequest: { model: 'gpt-4o', messages: [{}] } })).toEqual({
      ok: true,
      value: true,
    })
    const { response } = responded()
    const code = compile('string(response.code) + string(response.body)', 'response', 'string')
    expect(code.evaluate(exchange(), { response: { ...response, body: Buffer.from('!') } })).toEqual({
      ok: true,
      value: '503!',
    })
  })

  it('an unbuffered body is absent, an empty one is empty', () => {
    const x = exchange()
    Object.defineProperty(x.body, 'bytes', { get: () => undefined })
    expect(compile('has(request.body)').evaluate(x)).toEqual({ ok: true, value: false })
    Object.defineProperty(x.body, 'length', { get: () => 0 })
    expect(compile('size(request.body)').evaluate(x)).toEqual({ ok: true, value: 0 })
  })

  it.each([
    ['bool', '"x" + jwt.sub', false],
    ['bool', 'jwt.sub', false],
    ['bool', 'jwt.exp > 1', true],
    ['string', 'jwt.exp', false],
    ['string', 'jwt.nested', false],
    ['string', 'request.body', true],
    ['number', 'jwt.score', true],
    ['number', 'jwt.sub', false],
    ['map', 'jwt.nested', true],
    ['map', 'jwt.roles', false],
    ['duration', 'jwt.sub', false],
    ['sampling', 'jwt.score', true],
    ['sampling', 'jwt.sub', false],
  ] as const)('a %s from %s: %s', (result, text, ok) => {
    const made = createCelCompiler().compile(text, 'request', result)
    if ('problem' in made) expect(ok).toBe(false)
    else expect(made.evaluate(exchange()).ok).toBe(ok)
  })

  it.each([
    ['"1.5s"', 1500],
    ['2s', 2000],
    ['1m30s', 90_000],
    ['duration("2m")', 120_000],
    ['250', 250],
    ['0.5', 0.5],
    ['request.startTime', new Date(Date.UTC(2026, 0, 15, 12, 30, 45, 250))],
  ])('%s as a duration is %s', (text, expected) => {
    expect(compile(text, 'request', 'duration').evaluate(exchange())).toEqual({ ok: true, value: expected })
  })

  it('runs the largest expressions it accepts', () => {
    expect(value(`${'1+'.repeat(1900)}1`)).toBe(1901)
    expect(value(`${'!'.repeat(64)}true`)).toBe(true)
    expect(value(`"${'-'.repeat(500)}" == '${'-'.repeat(500)}' // ${'!'.repeat(500)}`)).toBe(true)
    expect(value(`${'false||'.repeat(1900)}true`)).toBe(true)
  })
})

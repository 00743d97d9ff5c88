import { describe, expect, it } from 'vitest'
import { MAX_EXPRESSION_LENGTH } from '../../src/cel/check.ts'
import type { CelResult, CelScope } from '../../src/schema/builder.ts'
import { compile, problemOf } from './exchange-fixture.ts'

describe('names', () => {
  it.each([
    ['requst.path == "/"', 'requst', 'unknown variable `requst`', 'request'],
    ['request.pth == "/"', 'pth', '`request` has no field `pth`', 'path'],
    ['request["pth"] == "/"', '"pth"', '`request` has no field `pth`', 'path'],
    ['proxy.route.nam', 'nam', '`proxy.route` has no field `nam`', 'name'],
    ['request.path.startWith("/")', 'startWith', 'unknown method `startWith`', 'startsWith'],
    ['bse64.encode("x")', 'bse64', 'unknown variable `bse64`', undefined],
    ['base64.encod("x")', 'encod', 'unknown method `encod`', 'encode'],
    ['jsn(request.body)', 'jsn', 'unknown function `jsn`', 'json'],
    ['apikey.owner', 'apikey', 'unknown variable `apikey`', 'apiKey'],
    ['source.adress', 'adress', '`source` has no field `adress`', 'address'],
    ['has(request.heders.x)', 'heders', '`request` has no field `heders`', 'headers'],
    ['default(requset.path, "/")', 'requset', 'unknown variable `requset`', 'request'],
    ['jwt.roles.exists(r, q == "x")', 'q', 'unknown variable `q`', undefined],
  ])('%s', (text, at, message, suggestion) => {
    const problem = problemOf(text)
    expect(problem).toMatchObject({ kind: 'type', at, message })
    expect(problem.suggestion).toBe(suggestion)
  })

  it.each([
    ['request.path.hasPrefix("/a")', 'Here it is called `startsWith`.'],
    ['not(request.path == "/a")', 'Operators are `&&`, `||` and `!`.'],
    ['source.address in "10.0.0.0/8"', 'write `whole.contains(part)`'],
    ['request.path == "/a";', 'An expression ends without `;`.'],
    ['{{ request.path }}', 'without `{{` and `}}`'],
  ])('explains syntax from other languages: %s', (text, help) => {
    expect(problemOf(text).help).toContain(help)
  })

  it('counts offsets in UTF-16 units', () => {
    expect(problemOf('"😀é" + requst.path')).toMatchObject({ at: 'requst', span: [8, 14] })
  })

  it('positions refer to the original text, also after a fraction without a leading zero', () => {
    expect(problemOf('.5 + .25 > requst.x').at).toBe('requst')
  })

  it('does not mistake a loop variable for a request variable', () => {
    expect([...compile('jwt.roles.exists(request, request == "x")').roots]).toEqual(['jwt'])
    expect([...compile('jwt.with(source, source.sub)').roots]).toEqual(['jwt'])
  })

  it('lists the available names when nothing is close', () => {
    expect(problemOf('zzzzzzzz').help).toContain('request, ')
  })
})

describe('scopes', () => {
  it.each<[string, CelScope, string]>([
    ['response.code', 'request', 'response policies, access logs'],
    ['llm.totalTokens', 'request', 'token rate limits'],
    ['llmRequest.model', 'log', 'LLM request policies'],
    ['mcp.tool.name', 'request', 'MCP authorization'],
    ['request.path', 'connection', 'request policies'],
    ['destination.port', 'connection', 'dynamic targets'],
  ])('%s is not available in %s', (text, scope, help) => {
    const problem = problemOf(text, scope)
    expect(problem.message).toContain('is not available here')
    expect(problem.help).toContain(help)
  })

  it.each<[string, CelScope]>([
    ['request.endTime', 'request'],
    ['mcp.methodName', 'mcp'],
  ])('the field %s is not available in %s', (text, scope) => {
    expect(problemOf(text, scope)).toMatchObject({ kind: 'type', label: 'not available here' })
  })

  it.each<[string, CelScope]>([
    ['source.address', 'connection'],
    ['destination.hostname', 'target'],
    ['mcp.tool.target == "a" && jwt.sub == "b"', 'mcp'],
    ['llmRequest.model', 'llmRequest'],
    ['response.code + 1', 'response'],
    ['llm.totalTokens', 'usage'],
    ['request.endTime', 'log'],
  ])('%s is available in %s', (text, scope) => {
    expect(compile(text, scope).scope).toBe(scope)
  })
})

describe('types', () => {
  it.each([
    ['request.path == 5', 'string and int are never equal'],
    ['request.method + 1', '`+` cannot combine string and int'],
    ['request.path.startsWith(1)', '`startsWith` cannot be called on string with (int)'],
    ['size(request.path, 1)', '`size` takes 1 argument, not 2'],
    ['startsWith("a", "b")', '`startsWith` is a method, not a function'],
    ['"a".json("b")', '`json` takes 0 arguments, not 1'],
    ['request.path.uuid()', '`uuid` is a function, not a method'],
    ['!request.path', '`!` cannot be applied to string'],
    ['-request.path', '`-` cannot be applied to string'],
    ['request.path && true', 'take booleans'],
    ['request.path.exists(x, true)', 'only lists and maps'],
    ['["a"].map(1, 2)', 'plain name'],
    ['size', '`size` is a function, not a variable'],
  ])('%s', (text, message) => {
    const problem = problemOf(text)
    expect(problem.kind).toBe('type')
    expect(problem.message).toContain(message)
    expect(problem.message).not.toMatch(/gw_|Json|dyn/)
  })

  it.each([
    ['cidr("10.0.0.0/99").containsIP(source.address)', '"10.0.0.0/99"', 'not an IP address or CIDR'],
    ['cidr(jwt.range).containsIP("10.0.0.256")', '"10.0.0.256"', 'not an IP address or CIDR'],
    ['cidr("a/8").containsIP(source.address) ? true : false', '"a/8"', 'not an IP address or CIDR'],
    ['ip("localhost") == ip(source.address)', '"localhost"', 'not an IP address'],
    ['request.startTime > timestamp("2026-02-30T00:00:00Z")', '"2026-02-30T00:00:00Z"', 'not an RFC 3339 timestamp'],
    ['request.startTime + duration("1 day") > timestamp(jwt.exp)', '"1 day"', 'not a duration'],
    ['request.startTime.getHours("Europe/Berln") < 8', '"Europe/Berln"', 'not a time zone'],
  ])('rejects a literal that would make every evaluation fail: %s', (text, literal, message) => {
    const { kind, message: said, span } = problemOf(text)
    expect({ kind, marked: text.slice(...(span ?? [])) }).toEqual({ kind: 'type', marked: literal })
    expect(said).toContain(message)
  })

  it.each([
    'request.path == "/a" && cidr("a/8").containsIP(source.address)',
    'cidr("a/8").containsIP(source.address) || request.path == "/a"',
    'request.path == "/a" ? cidr("a/8").containsIP(source.address) : true',
    'has(jwt.range) ? true : cidr("a/8").containsIP(source.address)',
    'request.headers.exists(name, cidr("a/8").containsIP(name))',
    'default(jwt.range, string(cidr("a/8")))',
    'coalesce(string(cidr("a/8")), "none")',
    '(request.path == "/a" && !cidr("a/8").containsIP(source.address)) == false',
  ])('only doubts an invalid literal that an evaluation may skip: %s', text => {
    const { doubt } = compile(text)
    expect(doubt?.message).toContain('not an IP address or CIDR')
    expect(text.slice(...(doubt?.span ?? []))).toBe('"a/8"')
  })

  it('does not doubt a valid literal', () => {
    expect(compile('request.path == "/a" && cidr("10.0.0.0/8").containsIP(source.address)').doubt).toBeUndefined()
  })

  it.each<[string, CelResult, string]>([
    ['"5"', 'duration', 'the text is not a duration'],
    ['"ten seconds"', 'duration', 'the text is not a duration'],
    ['50', 'sampling', '50 is not a share: it must be 0 to 1'],
    ['1.5', 'sampling', '1.5 is not a share: it must be 0 to 1'],
  ])('rejects an invalid constant: %s as %s', (text, result, message) => {
    expect(problemOf(text, 'request', result)).toMatchObject({ kind: 'type', message })
  })

  it('explains how to combine different number types', () => {
    const problem = problemOf('llm.cost.total * 1000000', 'usage')
    expect(problem.message).toBe('`*` cannot combine double and int')
    expect(problem.help).toContain('double(…)')
  })

  it.each<[string, CelResult, boolean]>([
    ['request.path', 'bool', false],
    ['request.path == "/"', 'bool', true],
    ['jwt.admin', 'bool', true],
    ['1', 'string', false],
    ['request.path', 'string', true],
    ['request.body', 'string', true],
    ['has(jwt.sub) ? jwt.sub : null', 'string', true],
    ['"2s"', 'duration', true],
    ['duration("2s")', 'duration', true],
    ['250', 'duration', true],
    ['true', 'duration', false],
    ['{"a": 1}', 'map', true],
    ['[1]', 'map', false],
    ['request', 'map', true],
    ['0.5', 'sampling', true],
    ['"x"', 'sampling', false],
    ['"x"', 'number', false],
    ['size("x")', 'number', true],
    ['[1, "a"]', 'any', true],
  ])('%s as %s: %s', (text, result, accepted) => {
    if (accepted) expect(compile(text, 'request', result).result).toBe(result)
    else expect(problemOf(text, 'request', result).message).toMatch(/must give .*, but it gives/)
  })
})

describe('syntax', () => {
  it.each([
    ['request.path = "/"', '='],
    ['(request.path', ''],
    ['request.path ==', ''],
    ['"abc', '"abc'],
    ['request..path', '.'],
    ['a & b', '&'],
    ['', ''],
    ['if', 'if'],
    ['9223372036854775808', '9223372036854775808'],
  ])('%s', (text, at) => {
    expect(problemOf(text)).toMatchObject({ kind: 'syntax', at })
  })

  it('suggests the CEL spelling for syntax of other languages', () => {
    expect(problemOf('request.path = "/"').help).toBe('Equality is `==`.')
    expect(problemOf('true and false').help).toBe('Logical and is `&&`.')
    expect(problemOf('(1').message).toBe('expected `)`, got the end')
  })
})

describe('size', () => {
  it('accepts text up to the specified limit, and no more', () => {
    const longest = `"${'x'.repeat(MAX_EXPRESSION_LENGTH - 2)}"`
    expect(compile(longest).text).toHaveLength(16_384)
    expect(problemOf(`${longest} `)).toMatchObject({ kind: 'size' })
  })

  it.each([
    ['parentheses', `${'('.repeat(8000)}1${')'.repeat(8000)}`],
    ['negations', `${'! '.repeat(65)}true`],
    ['sums', `${'1+'.repeat(8000)}1`],
    ['conjunctions', `${'a&&'.repeat(5000)}a`],
    ['nested lists', `${'['.repeat(8000)}${']'.repeat(8000)}`],
    ['fields', `request${'.a'.repeat(8000)}`],
    ['ternaries', `${'true?1:'.repeat(2000)}2`],
    ['unclosed brackets', '['.repeat(16000)],
    ['list items', `[${'1,'.repeat(8000)}1]`],
  ])('rejects endless %s cleanly', (_, text) => {
    expect(['size', 'syntax', 'type']).toContain(problemOf(text).kind)
  })
})

describe('expression analysis', () => {
  it.each([
    ['request.path', false],
    ['json(request.body).x', true],
    ['request["body"]', true],
    ['request.bodyPrefix', true],
    ['request.with(r, r.body)', true],
    ['toJson(request)', true],
    ['variables()', true],
    ['has(request)', false],
    ['request["path"]', false],
  ])('%s needs the body: %s', (text, expected) => {
    expect(compile(text).readsRequestBody).toBe(expected)
  })

  it('distinguishes request and response bodies', () => {
    const expression = compile('size(response.body) > 0 && request.path == "/"', 'response')
    expect([expression.readsRequestBody, expression.readsResponseBody]).toEqual([false, true])
  })

  it('lists its variables', () => {
    expect([...compile('jwt.sub == request.path && math.abs(1) == 1 && type(1) == int').roots].sort()).toEqual([
      'jwt',
      'request',
    ])
  })

  it('tells when its result is spread over several log fields', () => {
    expect(compile('flatten(jwt)', 'log').flattens).toBe(true)
    expect(compile('jwt', 'log').flattens).toBe(false)
  })
})

import { describe, expect, it } from 'vitest'
import { createCelCompiler } from '../../src/cel/compiler.ts'
import type { CelCompiler } from '../../src/cel/expression.ts'
import type { CelScope } from '../../src/schema/builder.ts'
import { compile, exchange } from './exchange-fixture.ts'

const SCOPES: readonly CelScope[] = ['request', 'log', 'mcp']
/** Every family of functions, each kind of operator and type, and mistakes in each. */
const TEXTS = [
  // First: the library remembers across environments which types were ever declared.
  'jwt.x.isLoopback()',
  'jwt.sub.least(1)',
  'mcp.tool.name in ["echo", "get-sum"]',
  'mcp["to\\u006fl"]["name"] == "echo"',
  'proxy.route.name == "r" && source.identity.namespace != "x"',
  'request.path.startsWith("/v1") ? request.headers["x-user"] : null',
  'variables().request.method == "POST" && size(variables()) > 2',
  'variables()["sour" + "ce"].address',
  '1u != 2',
  'json(request.body).tags + ["d"] == ["a", "b", "c", "d"]',
  '["x"] + json(request.body).tags',
  '"model" in json(request.body) && "a" in json(request.body).tags',
  '1 == 1.0 && 1u != 2 && 1 in [1.0, 2.0] && !(1u in [2])',
  'ip("10.0.0.1") == ip(source.address) || cidr("10.0.0.0/8").containsIP(source.address)',
  'jwt.sub.family() == 4',
  'math.greatest(1, 2, 3) + math.abs(-4)',
  'max(1, 2.0) == 2',
  'base64.decode(base64.encode("x")) == b"x"',
  'sha256.encode("x") + url.encode("a b")',
  'math',
  'base64 == url',
  'type(1) == int && type(request.path) == string && type(duration("1s")) == type(duration("2s"))',
  'type(1) == ip',
  'default(request.headers.nope, "d") + coalesce(null, "e")',
  'json(request.body).nested.with(n, n.deep).mapValues(v, v).filterKeys(k, k != "z")',
  '[1, 2, 3].map(x, x * 2).exists(x, x == 4) && {"a": 1}.all(k, k != "b")',
  'request.path.matches("^/v1/[a-z]+/[0-9]+") && "abc".regexReplace("b", "x") == "axc"',
  '"a-b".split("-").join("+").upperAscii()',
  'optional.of(1).orValue(2) + [1][?0].orValue(0)',
  'timestamp("2026-01-15T12:30:45Z").getMilliseconds() + int("3")',
  'toJson({"a": [1, null]}) + string(2.5)',
  'cel.bind(x, request.method, x + x)',
  'request.pth',
  'mathh.abs(1)',
  'math.abss(1)',
  '"x".spilt("-")',
  'trim("x")',
  'substring',
  'isIP()',
  'ip("10.0.0.1").isGlobal()',
  '1 + "a"',
  'request.path == 1',
  'response.code == 200 && llm.inputTokens > 3',
]
/** Words are looked for before anything is parsed, so those of a comment count. */
const EVERY_WORD = `1 // ${[...new Set(TEXTS.join(' ').match(/\w+/g))].join(' ')} == != + in merge flatten flattenRecursive \
jsonField toJson to_json unredacted random uuid fail redacted raw cookie query addQuery setQuery unvalidatedJwtPayload \
bool bytes uint double lastIndexOf indexOf charAt reverse replace stripPrefix stripSuffix contains min form md5 sha1 \
encode masked prefixLength containsCIDR ceil floor round trunc sign sqrt isInf isNaN isFinite bitAnd removeKeys`

/** What an expression means to a compiler, as far as its author can tell. */
function meaning(compiler: CelCompiler, text: string, scope: CelScope): unknown {
  const made = compiler.compile(text, scope, 'any')
  return 'problem' in made ? made : { roots: made.roots, outcome: made.evaluate(exchange()) }
}

const alone = SCOPES.map(scope => TEXTS.map(text => meaning(createCelCompiler(), text, scope)))

describe('the meaning of an expression does not depend on what was compiled before', () => {
  for (const [index, scope] of SCOPES.entries()) {
    const learned = createCelCompiler()
    learned.compile(EVERY_WORD, scope, 'any')

    it.each(TEXTS)(`${scope}: %s`, text => {
      expect(meaning(learned, text, scope)).toEqual(alone[index]?.[TEXTS.indexOf(text)])
    })
  }

  it('leaves earlier expressions unchanged', () => {
    const compiler = createCelCompiler()
    const early = TEXTS.map(text => compiler.compile(text, 'request', 'any'))
    compiler.compile(EVERY_WORD, 'request', 'any')
    for (const [index, text] of TEXTS.entries()) {
      const made = early[index]
      if (!made || 'problem' in made) continue
      expect(made.evaluate(exchange())).toEqual(compile(text, 'request', 'any').evaluate(exchange()))
    }
  })
})

describe('identical expressions', () => {
  it('are compiled once per scope and result type, errors included', () => {
    const cel = createCelCompiler()
    const text = 'request.path == "/"'
    const one = cel.compile(text, 'request', 'bool')
    expect(cel.compile(text, 'request', 'bool')).toBe(one)
    expect(cel.compile(text, 'log', 'bool')).not.toBe(one)
    expect(cel.compile(text, 'request', 'any')).not.toBe(one)
    expect(cel.compile('response.code', 'request', 'any')).toHaveProperty('problem')
    expect(cel.compile('response.code', 'log', 'any')).not.toHaveProperty('problem')
  })
})

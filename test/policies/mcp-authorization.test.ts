import { describe, expect, test } from 'vitest'
import { createCelCompiler } from '../../src/cel/compiler.ts'
import { bodyOf, Exchange, emptyHead, type McpItem } from '../../src/http/exchange.ts'
import { mcpAuthorization } from '../../src/policies/mcp-authorization.ts'
import type { CompileContext } from '../../src/policies/policy.ts'
import { decode, INVALID } from '../../src/schema/decode.ts'

const CONTEXT = { origin: { file: 'test.yaml', line: 1, col: 1 } } as unknown as CompileContext

type Spec = Parameters<typeof mcpAuthorization.compile>[0]

function read(value: unknown): Spec {
  const decoded = decode(mcpAuthorization.schema, value, [], {
    report(finding) {
      throw new Error(finding.message)
    },
    paths: new WeakMap(),
    cel: createCelCompiler(),
    patterns: undefined,
    missing: new Set(),
  })
  if (decoded === INVALID) throw new Error('invalid')
  return decoded
}

function allows(
  spec: Spec,
  item: Partial<McpItem> & { readonly name: string },
  jwt?: Record<string, unknown>,
): boolean {
  const x = new Exchange({
    id: '1',
    connection: { id: 1, address: '127.0.0.1', port: 1, localPort: 1 },
    startedAt: 0,
    startedMono: 0,
    httpVersion: '1.1',
    request: emptyHead(),
    body: bodyOf(undefined),
  })
  if (jwt) x.auth.jwt = jwt
  const hooks = mcpAuthorization.compile(spec, CONTEXT)
  return hooks.mcpAuthorization?.allows(x, { kind: 'tool', target: 't', ...item }) ?? true
}

describe('rules from the specification', () => {
  const spec = read({
    rules: [
      'mcp.tool.name == "echo"',
      'jwt.sub == "test-user" && mcp.tool.name == "add"',
      'mcp.tool.name == "printEnv" && jwt.nested.key == "value"',
      '"admin" in jwt.roles && mcp.tool.name == "drop"',
      'mcp.tool.name == "mail" && jwt.email.endsWith("@example.com")',
    ],
  })
  test.each([
    ['echo', undefined, true],
    ['add', undefined, false],
    ['add', { sub: 'test-user' }, true],
    ['add', { sub: 'other' }, false],
    ['printEnv', { nested: { key: 'value' } }, true],
    ['printEnv', { nested: {} }, false],
    ['drop', { roles: ['dev', 'admin'] }, true],
    ['drop', { roles: [] }, false],
    ['mail', { email: 'a@example.com' }, true],
    ['mail', { email: 'a@example.com.evil' }, false],
    ['unnamed', { sub: 'test-user' }, false],
  ])('%s for %j: %s', (name, jwt, expected) => {
    expect(allows(spec, { name }, jwt)).toBe(expected)
  })

  test('tool rules allow neither prompts nor resources', () => {
    expect(allows(spec, { kind: 'prompt', name: 'echo' })).toBe(false)
    expect(allows(spec, { kind: 'resource', name: 'echo' })).toBe(false)
  })
})

test('a rule can match the target', () => {
  const spec = read({ rules: ['mcp.tool.target == "a"'] })
  expect(allows(spec, { name: 'x', target: 'a' })).toBe(true)
  expect(allows(spec, { name: 'x', target: 'b' })).toBe(false)
})

test('deny overrides allow, and every require must hold', () => {
  const spec = read({
    rules: [{ allow: 'true' }, { deny: 'mcp.tool.name == "drop"' }, { require: 'jwt.sub == "ann"' }],
  })
  expect(allows(spec, { name: 'x' }, { sub: 'ann' })).toBe(true)
  expect(allows(spec, { name: 'drop' }, { sub: 'ann' })).toBe(false)
  expect(allows(spec, { name: 'x' }, { sub: 'bob' })).toBe(false)
  expect(allows(spec, { name: 'x' })).toBe(false)
})

test('with only deny rules everything else is allowed, and a failing deny rule denies nothing', () => {
  const spec = read({ rules: [{ deny: 'mcp.tool.name == "drop"' }, { deny: 'jwt.sub == "bob"' }] })
  expect(allows(spec, { name: 'x' })).toBe(true)
  expect(allows(spec, { name: 'drop' })).toBe(false)
})

test('an empty rule list allows everything', () => {
  expect(allows(read({ rules: [] }), { name: 'x' })).toBe(true)
})

test('rules of two levels are merged', () => {
  const wide = read({ rules: ['mcp.tool.name == "a"', { deny: 'mcp.tool.name == "b"' }] })
  const narrow = read(['mcp.tool.name in ["b", "c"]'])
  const merged = mcpAuthorization.merge?.(wide, narrow) ?? wide
  expect(['a', 'b', 'c', 'd'].filter(name => allows(merged, { name }))).toEqual(['a', 'c'])
})

test('a trace shows the config line of each evaluated rule', () => {
  const told: unknown[] = []
  let origins: unknown = []
  const x = new Exchange({
    id: '1',
    connection: { id: 1, address: '127.0.0.1', port: 1, localPort: 1 },
    startedAt: 0,
    startedMono: 0,
    httpVersion: '1.1',
    request: emptyHead(),
    body: bodyOf(undefined),
  })
  x.trace = {
    mostRoutes: 1,
    emit: ({ type }, about = {}) => void told.push([type, about.origins ?? origins]),
    snapshot: () => {},
    body: () => {},
    enter: entered => {
      origins = entered
      return 0
    },
    leave: () => {
      origins = []
    },
    now: () => 0,
    child: () => x.trace!,
    call: () => ({ end() {} }),
  }
  const hooks = mcpAuthorization.compile(read(['mcp.tool.name == "echo"']), CONTEXT)
  hooks.mcpAuthorization?.allows(x, { kind: 'tool', target: 't', name: 'drop' })
  expect(told).toEqual([
    ['cel', [CONTEXT.origin]],
    ['authorization', [CONTEXT.origin]],
  ])
  expect(origins).toEqual([])
})

test('rules can read the arguments of a call, which a list does not have', () => {
  const spec = read({ rules: [{ deny: 'mcp.tool.arguments.path.startsWith("/etc")' }] })
  expect(allows(spec, { name: 'read', arguments: { path: '/etc/passwd' } })).toBe(false)
  expect(allows(spec, { name: 'read', arguments: { path: '/tmp/a' } })).toBe(true)
  expect(allows(spec, { name: 'read', arguments: {} })).toBe(true)
  expect(allows(spec, { name: 'read', arguments: { path: 7 } })).toBe(false)
  expect(allows(spec, { name: 'read' })).toBe(true)
})

import { expect, test } from 'vitest'
import type { JsonObject } from '../../../src/mcp/message.ts'
import { readDocument } from '../../../src/mcp/openapi/document.ts'
import { toolsOf } from '../../../src/mcp/openapi/tools.ts'

/** One operation per schema of a body. */
function documentOf(bodies: Readonly<Record<string, unknown>>, schemas: Readonly<Record<string, unknown>> = {}) {
  const paths = Object.fromEntries(
    Object.entries(bodies).map(([operationId, schema]) => [
      `/${operationId}`,
      { post: { operationId, requestBody: { content: { 'application/json': { schema } } } } },
    ]),
  )
  return { openapi: '3.1.0', paths, components: { schemas } } as JsonObject
}

const bodyOf = (tool: JsonObject | undefined) =>
  (tool as { inputSchema: { properties: { body: JsonObject } } }).inputSchema.properties.body
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const kindsOf = (document: JsonObject) => toolsOf(document).remarks.map(({ kind }) => kind)

test('mutually recursive schemas use $defs', () => {
  const schemas = { A: { properties: { b: ref('B') } }, B: { properties: { a: ref('A'), 'a/b': ref('A') } } }
  const [tool] = toolsOf(documentOf({ one: ref('A') }, schemas)).tools
  expect(bodyOf(tool)).toEqual({
    properties: { b: { properties: { a: { $ref: '#/$defs/A' }, 'a/b': { $ref: '#/$defs/A' } } } },
  })
  expect(tool).toMatchObject({ inputSchema: { $defs: { A: { properties: { b: { properties: {} } } } } } })
})

test('schemas that would explode when expanded use references', () => {
  const schemas: Record<string, unknown> = { L0: { type: 'string' } }
  for (let i = 1; i <= 40; i++) schemas[`L${i}`] = { allOf: [ref(`L${i - 1}`), ref(`L${i - 1}`), ref(`L${i - 1}`)] }
  const { tools, remarks } = toolsOf(documentOf({ laughs: ref('L40') }, schemas))
  expect(JSON.stringify(tools).length).toBeLessThan(200_000)
  expect(remarks).toEqual([])
})

test('documents too large in total lose schemas, but no tools', () => {
  const schemas = { Big: { enum: Array.from({ length: 20_000 }, (_, i) => i) } }
  const bodies = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`op${i}`, ref('Big')]))
  const { tools, remarks } = toolsOf(documentOf(bodies, schemas))
  expect(tools.length).toBe(100)
  expect(bodyOf(tools[0])).toEqual(schemas.Big)
  expect(bodyOf(tools[99])).toEqual({})
  expect(remarks.map(({ message }) => message)).toEqual([expect.stringMatching(/too large in total/)])
})

test('deeply nested schemas accept anything below a certain depth', () => {
  let schema: JsonObject = { type: 'string' }
  for (let i = 0; i < 5000; i++) schema = { items: schema }
  expect(JSON.stringify(toolsOf(documentOf({ deep: schema })).tools).length).toBeLessThan(2000)
  let value: unknown = 1
  for (let i = 0; i < 5000; i++) value = [value]
  expect(JSON.stringify(toolsOf(documentOf({ deep: { default: value } })).tools).length).toBeLessThan(2000)
})

test('references cannot leave the document or its own members', () => {
  const refs = ['https://evil.example.com/x.json', 'other.yaml#/A', '#/__proto__/x', '#/constructor', '#/a/%zz', '#/no']
  const { tools, remarks } = toolsOf(documentOf(Object.fromEntries(refs.map(($ref, i) => [`op${i}`, { $ref }]))))
  expect(tools.map(bodyOf)).toEqual(refs.map(() => ({})))
  expect(remarks.length).toBe(refs.length)
  expect(kindsOf(documentOf({ a: ref('A') }, { A: ref('B'), B: ref('A') }))).toEqual([])
})

test('tool names are valid and unique', () => {
  const paths = {
    '/a/{id}': { get: { parameters: [{ name: 'id', in: 'path' }] }, post: { operationId: 'x y' } },
    '/b': { get: { operationId: 'same' }, post: { operationId: 'same' } },
    '/c': { get: { operationId: 'n'.repeat(300) }, trace: { operationId: 'trace' } },
    'no-slash': { get: { operationId: 'never' } },
    'x-more': { get: { operationId: 'never' } },
  }
  const { tools, remarks } = toolsOf({ paths })
  expect(tools.map(({ name }) => name)).toEqual(['get_a_id', 'same', 'n'.repeat(128)])
  expect(remarks).toEqual([
    { kind: 'unnamed', message: 'GET /a/{id} has no `operationId`: its tool is called `get_a_id`' },
    { kind: 'partial', message: 'POST /a/{id} is left out: its path names `{id}`, which is not one of its parameters' },
    { kind: 'repeated', message: 'POST /b is left out: another operation is called `same`' },
  ])
})

test('paths are prefixed with the server’s path unless another one is set', () => {
  const operation = { get: { operationId: 'a' } }
  const pathOf = (url: unknown, base?: string) =>
    toolsOf({ paths: { '/a': operation }, servers: [{ url }] }, base).operations.get('a')?.path
  expect(pathOf('https://api.example.com/v1/')).toBe('/v1/a')
  expect(pathOf('/')).toBe('/a')
  expect(pathOf('../v2')).toBe('/v2/a')
  expect(pathOf(7)).toBe('/a')
  expect(pathOf('/v1', '/other/')).toBe('/other/a')
  expect(pathOf('/v1', '/')).toBe('/a')
})

test('rejects documents that are not OpenAPI 3', () => {
  const problem = (text: string) => (readDocument(text) as { problem?: string }).problem
  expect(problem('{"swagger":"2.0","paths":{}}')).toMatch(/Swagger 2.0/)
  expect(problem('[]')).toMatch(/neither JSON nor YAML/)
  expect(problem('<html>')).toMatch(/neither JSON nor YAML/)
  expect(problem('{"openapi":"4.0.0","paths":{}}')).toMatch(/not a 3.x version/)
  expect(problem('{"openapi":"3.0.0"}')).toMatch(/no `paths`/)
  expect(problem('openapi: 3.0.0\npaths: {}')).toBeUndefined()
})

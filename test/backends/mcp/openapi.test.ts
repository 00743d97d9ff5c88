import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterEach, expect, test } from 'vitest'
import { type Gateway, startGateway } from './gateway.ts'
import { modern } from './modern-server.ts'
import { startSdkServer } from './sdk-server.ts'
import { post } from './wire.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Answers with what it has been asked, or with what `answers` says for the path. */
async function startApi(answers: Readonly<Record<string, readonly [number, string, string | Buffer]>> = {}) {
  const seen: Seen[] = []
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', chunk => chunks.push(chunk))
    req.on('end', () => {
      const asked = { method: req.method, url: req.url, headers: req.headers, body: Buffer.concat(chunks).toString() }
      seen.push(asked)
      const [status, type, body] = answers[req.url ?? ''] ?? [200, 'application/json', JSON.stringify({ url: req.url })]
      res.writeHead(status, { 'content-type': type }).end(body)
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  closing.push(() => new Promise(done => server.close(done)))
  return { seen, host: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const PETS = {
  openapi: '3.0.3',
  info: { title: 'Pets', version: '7' },
  servers: [{ url: 'https://elsewhere.example.com/{base}', variables: { base: { default: 'v1' } } }],
  paths: {
    '/pets/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      get: {
        operationId: 'getPet',
        summary: 'Get a pet',
        description: 'Gets the pet.',
        parameters: [
          { $ref: '#/components/parameters/tags' },
          { name: 'near', in: 'query', style: 'deepObject', explode: true, schema: { type: 'object' } },
          { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
          { name: 'Authorization', in: 'header', schema: { type: 'string' } },
          { name: 'lang', in: 'cookie', schema: { type: 'string' } },
        ],
      },
      put: { operationId: 'putPet', requestBody: { $ref: '#/components/requestBodies/pet' } },
    },
    '/forms': {
      post: {
        operationId: 'form',
        requestBody: { content: { 'application/x-www-form-urlencoded': { schema: { type: 'object' } } } },
      },
    },
    '/files': {
      post: {
        operationId: 'upload',
        requestBody: {
          content: {
            'multipart/form-data': {
              schema: {
                type: 'object',
                properties: { note: { type: 'string' }, file: { type: 'string', format: 'binary' } },
              },
            },
          },
        },
      },
    },
    '/raw': { post: { operationId: 'raw', requestBody: { content: { 'application/octet-stream': {} } } } },
    ...Object.fromEntries(
      ['missing', 'broken', 'list', 'text', 'image', 'large', 'zipped'].map(name => [
        `/${name}`,
        { get: { operationId: name } },
      ]),
    ),
  },
  components: {
    parameters: {
      tags: { name: 'tags', in: 'query', description: 'any of', schema: { type: 'array', items: { type: 'string' } } },
    },
    requestBodies: {
      pet: { required: true, content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } } },
    },
    schemas: {
      Pet: {
        type: 'object',
        required: ['name'],
        properties: {
          name: { type: 'string', nullable: true },
          age: { type: 'integer', minimum: 0, exclusiveMinimum: true },
          parents: { type: 'array', items: { $ref: '#/components/schemas/Pet' } },
        },
      },
    },
  },
}

async function setUp(answers = {}, more: object = {}) {
  const api = await startApi(answers)
  const pets = { name: 'pets', openapi: { host: api.host, schema: JSON.stringify(PETS) } }
  const gateway = await startGateway({ targets: [pets], ...more })
  closing.push(() => gateway.close())
  return { api, gateway }
}

/** A request of 2026-07-28, and what is answered. `raw`: arguments as they are written. */
async function ask(gateway: Gateway, method: string, params: object, raw?: string): Promise<string> {
  const { body, headers } = modern(1, method, params)
  const text =
    raw === undefined ? JSON.stringify(body) : JSON.stringify(body).replace('"arguments":0', `"arguments":${raw}`)
  return (await post(gateway.url, text, headers)).text
}

async function connect(gateway: Gateway): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  const requestInit = { headers: { authorization: 'Bearer client', 'x-tenant': 'a', cookie: 'own=1' } }
  await client.connect(new StreamableHTTPClientTransport(gateway.url, { requestInit }))
  closing.push(() => client.close())
  return client
}

test('exposes operations as tools', async () => {
  const { gateway } = await setUp()
  const client = await connect(gateway)
  expect(client.getServerVersion()).toMatchObject({ name: 'Pets', version: '7' })
  expect(client.getServerCapabilities()).toEqual({ tools: {} })
  const { tools } = await client.listTools()
  expect(tools.map(tool => tool.name).slice(0, 5)).toEqual(['getPet', 'putPet', 'form', 'upload', 'raw'])
  expect(tools[0]).toEqual({
    name: 'getPet',
    title: 'Get a pet',
    description: 'Gets the pet.',
    inputSchema: {
      type: 'object',
      properties: {
        path: group({ id: { type: 'string' } }, ['id']),
        query: group({
          tags: { type: 'array', items: { type: 'string' }, description: 'any of' },
          near: { type: 'object' },
        }),
        header: group({ 'X-Trace': { type: 'string' } }),
        cookie: group({ lang: { type: 'string' } }),
      },
      required: ['path'],
      additionalProperties: false,
    },
  })
  const pet = { $ref: '#/$defs/Pet' }
  const body = {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: ['string', 'null'] },
      age: { type: 'integer', exclusiveMinimum: 0 },
      parents: { type: 'array', items: pet },
    },
  }
  expect(tools[1]?.inputSchema).toMatchObject({
    properties: { body },
    required: ['path', 'body'],
    $defs: { Pet: body },
  })
})

function group(properties: object, required: readonly string[] = []) {
  return { type: 'object', properties, required, additionalProperties: false }
}

test('places parameters as the document says, and forwards client header fields', async () => {
  const { api, gateway } = await setUp()
  const client = await connect(gateway)
  const result = await client.callTool({
    name: 'getPet',
    arguments: {
      path: { id: 'a/b ?' },
      query: { tags: ['x', 'y&z'], near: { lat: 1.5, lon: -2 } },
      header: { 'X-Trace': 't' },
      cookie: { lang: 'de' },
    },
  })
  const url = '/v1/pets/a%2Fb%20%3F?tags=x&tags=y%26z&near%5Blat%5D=1.5&near%5Blon%5D=-2'
  expect(result).toMatchObject({ structuredContent: { url }, isError: false })
  expect(result.content).toEqual([{ type: 'text', text: JSON.stringify({ url }) }])
  const { headers } = api.seen[0] as Seen
  expect(headers).toMatchObject({ authorization: 'Bearer client', 'x-tenant': 'a', 'x-trace': 't', cookie: 'lang=de' })
  expect(headers.accept).toBe('application/json')
  expect(headers.host).toBe(api.host.slice('http://'.length))
  expect(Object.keys(headers).filter(name => name.startsWith('mcp-'))).toEqual([])
})

test('sends bodies as JSON, forms, multipart and bytes', async () => {
  const { api, gateway } = await setUp()
  const client = await connect(gateway)
  const call = (name: string, args: object) => client.callTool({ name, arguments: args as Record<string, unknown> })
  await call('putPet', { path: { id: 7 }, body: { name: 'Rex', parents: [{ name: null }] } })
  await call('form', { body: { a: 'b c', list: [1, 2], deep: { x: true } } })
  await call('upload', { body: { note: 'n', file: Buffer.from([0, 255]).toString('base64') } })
  await call('raw', { body: 'aGVsbG8=' })
  const [put, form, upload, raw] = api.seen
  expect(put).toMatchObject({ method: 'PUT', url: '/v1/pets/7', body: '{"name":"Rex","parents":[{"name":null}]}' })
  expect(put?.headers['content-type']).toBe('application/json')
  expect(form?.body).toBe('a=b+c&list=1&list=2&deep=%7B%22x%22%3Atrue%7D')
  expect(form?.headers['content-type']).toBe('application/x-www-form-urlencoded')
  expect(upload?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/)
  expect(upload?.body).toContain('name="note"\r\n\r\nn\r\n')
  expect(upload?.body).toContain('filename="file"\r\ncontent-type: application/octet-stream\r\n\r\n\0')
  expect(raw).toMatchObject({ body: 'hello' })
})

test('numbers keep all their digits in both directions', async () => {
  const { api, gateway } = await setUp({ '/v1/list': [200, 'application/json', '{"id":12345678901234567890}'] })
  const text = await ask(gateway, 'tools/call', { name: 'list', arguments: {} })
  expect(text).toContain('"structuredContent":{"id":12345678901234567890}')
  const raw = '{"path":{"id":12345678901234567891},"body":{"name":"a","age":12345678901234567892}}'
  await ask(gateway, 'tools/call', { name: 'putPet', arguments: 0 }, raw)
  expect(api.seen[1]).toMatchObject({
    url: '/v1/pets/12345678901234567891',
    body: '{"name":"a","age":12345678901234567892}',
  })
})

test('turns responses of any kind into results', async () => {
  const { gateway } = await setUp({
    '/v1/missing': [404, 'application/json', '{"error":"no such pet"}'],
    '/v1/broken': [500, 'text/html', '<h1>broken</h1>'],
    '/v1/list': [200, 'application/json', '[1,2]'],
    '/v1/text': [200, 'text/plain', 'hello'],
    '/v1/image': [200, 'image/png', Buffer.from([137, 80, 78, 71])],
    '/v1/large': [200, 'text/plain', 'x'.repeat(3 * 1024 * 1024)],
  })
  const client = await connect(gateway)
  const call = (name: string) => client.callTool({ name, arguments: {} })
  expect(await call('missing')).toMatchObject({ isError: true, structuredContent: { error: 'no such pet' } })
  expect(await call('broken')).toMatchObject({ isError: true, structuredContent: { code: 500 } })
  expect(await call('list')).toMatchObject({ isError: false, structuredContent: { data: [1, 2] } })
  expect(await call('text')).toMatchObject({ structuredContent: { code: 200, message: 'hello' } })
  expect(await call('image')).toMatchObject({ content: [{ type: 'image', mimeType: 'image/png', data: 'iVBORw==' }] })
  expect(await call('large')).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('more than 2097152 bytes') }],
  })
})

test('reports invalid arguments to the model without calling the API', async () => {
  const { api, gateway } = await setUp()
  const client = await connect(gateway)
  const told = async (name: string, args: unknown) => {
    const result = await client.callTool({ name, arguments: args as Record<string, unknown> })
    expect(result.isError).toBe(true)
    return (result.content as { text: string }[])[0]?.text
  }
  expect(await told('getPet', {})).toBe('`path.id` is required')
  for (const id of ['', '.', '..']) expect(await told('getPet', { path: { id } })).toMatch(/it is a part of the path/)
  expect(await told('getPet', { path: { id: { a: { b: 1 } } } })).toMatch(/contains nested lists or objects/)
  expect(await told('getPet', { path: { id: 'a' }, query: { admin: '1' } })).toMatch(/`query.admin` is not a parameter/)
  expect(await told('getPet', { path: { id: 'a' }, body: {} })).toMatch(/`body` is not an argument of this tool/)
  expect(await told('getPet', { path: 'a' })).toBe('`path` must be an object')
  expect(await told('getPet', { path: { id: 'a' }, header: { 'X-Trace': 'a\r\nb: c' } })).toMatch(/control characters/)
  expect(await told('getPet', { path: { id: 'a' }, header: { Authorization: 'x' } })).toMatch(/is not a parameter/)
  expect(await told('putPet', { path: { id: 'a' } })).toBe('`body` is required')
  expect(await told('raw', { body: '*' })).toBe('`body` is not base64')
  await expect(client.callTool({ name: 'nothing', arguments: {} })).rejects.toThrow('Unknown tool: nothing')
  expect(api.seen).toEqual([])
})

test('an API works next to MCP servers, for both protocol eras', async () => {
  const one = await startSdkServer('one')
  closing.push(() => one.close())
  const api = await startApi()
  const pets = { name: 'pets', openapi: { host: api.host, path: '/api', schema: JSON.stringify(PETS) } }
  const gateway = await startGateway({ targets: [{ name: 'one', mcp: { host: `${one.url}/mcp` } }, pets] })
  closing.push(() => gateway.close())
  const client = await connect(gateway)
  const names = (await client.listTools()).tools.map(tool => tool.name)
  expect(names).toEqual(expect.arrayContaining(['one_echo', 'pets_getPet']))
  expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['one_greet'])
  const args = { path: { id: '1' } }
  expect(await client.callTool({ name: 'pets_getPet', arguments: args })).toMatchObject({
    structuredContent: { url: '/api/pets/1' },
  })
  expect(await ask(gateway, 'tools/call', { name: 'pets_getPet', arguments: args })).toContain(
    '"resultType":"complete"',
  )
  expect(await ask(gateway, 'tools/list', {})).toContain('"name":"pets_getPet"')
})

test('fetches a document on demand, and a failed fetch affects only its own target', async () => {
  const api = await startApi({
    '/openapi.yaml': [200, 'application/yaml', 'openapi: 3.1.0\npaths: {/ok: {get: {operationId: fine}}}'],
    '/gone.json': [404, 'text/plain', 'gone'],
    '/page.json': [200, 'text/html', '<html>'],
  })
  const target = (name: string, path: string) => ({
    name,
    openapi: { host: api.host, schema: { url: api.host + path } },
  })
  const targets = [target('good', '/openapi.yaml'), target('gone', '/gone.json'), target('page', '/page.json')]
  const gateway = await startGateway({ targets, failureMode: 'failOpen' })
  closing.push(() => gateway.close())
  expect(api.seen).toEqual([])
  const client = await connect(gateway)
  expect((await client.listTools()).tools.map(tool => tool.name)).toEqual(['good_fine'])
  await client.listTools()
  expect(api.seen.map(({ url }) => url).sort()).toEqual(['/gone.json', '/openapi.yaml', '/page.json'])
  expect(gateway.logs.join('\n')).toMatch(/OpenAPI document cannot be read .*status 404/)
})

test('reports an unreachable or disconnecting API to the model', async () => {
  const api = await startApi()
  const pets = { name: 'pets', openapi: { host: 'http://127.0.0.1:1', schema: JSON.stringify(PETS) } }
  const gateway = await startGateway({ targets: [pets] })
  closing.push(() => gateway.close())
  const client = await connect(gateway)
  const result = await client.callTool({ name: 'text', arguments: {} })
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/could not be asked/) }] })
  expect(api.seen).toEqual([])
})

// What the server of the MCP trials offers, in both eras: the tools, prompts and resources that the conformance suite
// asks for by name, and numbered calls that leave a line in a journal.
import { createHmac, randomBytes } from 'node:crypto'
import { appendFileSync } from 'node:fs'

/** Thrown where the era has no requests to clients: the call comes again with the answers. */
export class InputRequired {
  constructor(inputRequests, requestState) {
    this.result = { resultType: 'input_required', inputRequests, requestState }
  }
}

export class RpcError extends Error {
  constructor(code, message, data) {
    super(message)
    this.code = code
    this.data = data
  }
}

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='
const KEY = randomBytes(32)
const pause = ms => new Promise(done => setTimeout(done, ms))
const text = value => ({ content: [{ type: 'text', text: value }] })
const image = { type: 'image', data: PNG, mimeType: 'image/png' }
const embedded = (uri, value) => ({ type: 'resource', resource: { uri, mimeType: 'text/plain', text: value } })
const user = content => ({ role: 'user', content })

const field = (name, type = 'string') => ({ type: 'object', properties: { [name]: { type } }, required: [name] })
const elicit = (message, requestedSchema) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema },
})
const sample = (prompt, maxTokens = 100) => ({
  method: 'sampling/createMessage',
  params: { messages: [user({ type: 'text', text: prompt })], maxTokens },
})
const ROOTS = { method: 'roots/list', params: {} }

const DEFAULTS = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'User name', default: 'John Doe' },
    age: { type: 'integer', description: 'User age', default: 30 },
    score: { type: 'number', description: 'User score', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
  required: [],
}
const titled = (values, titles) => values.map((value, i) => ({ const: value, title: titles[i] }))
const ENUMS = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    titledSingle: { type: 'string', oneOf: titled(['value1', 'value2', 'value3'], ['First', 'Second', 'Third']) },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
    untitledMulti: {
      type: 'array',
      minItems: 1,
      maxItems: 3,
      items: { type: 'string', enum: ['option1', 'option2', 'option3'] },
    },
    titledMulti: {
      type: 'array',
      minItems: 1,
      maxItems: 3,
      items: { anyOf: titled(['value1', 'value2', 'value3'], ['First', 'Second', 'Third']) },
    },
  },
  required: [],
}

const round = (requests, done = () => 'Done', state) => ({
  run: async (_args, call) => text(done(await call.ask(requests, state))),
})

const TOOLS = {
  test_simple_text: { run: () => text('This is a simple text response for testing.') },
  test_image_content: { run: () => ({ content: [image] }) },
  test_audio_content: { run: () => ({ content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }) },
  test_embedded_resource: {
    run: () => ({ content: [embedded('test://embedded-resource', 'This is an embedded resource content.')] }),
  },
  test_multiple_content_types: {
    run: () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        image,
        embedded('test://mixed-content-resource', '{"test":"data","value":123}'),
      ],
    }),
  },
  test_tool_with_logging: {
    async run(_args, call) {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        call.log(data)
        await pause(50)
      }
      return text('Tool with logging executed successfully')
    },
  },
  test_logging_tool: {
    run(_args, call) {
      call.log('only where somebody asked for it')
      return text('logged')
    },
  },
  test_tool_with_progress: {
    async run(_args, call) {
      for (const step of [0, 50, 100]) {
        call.progress(step, 100)
        await pause(50)
      }
      return text(String(call.token))
    },
  },
  test_error_handling: {
    run: () => ({ isError: true, ...text('This tool intentionally returns an error for testing') }),
  },
  test_reconnection: {
    async run(_args, call) {
      call.closeStream()
      await pause(100)
      return text('Reconnection test completed successfully')
    },
  },
  test_sampling: {
    input: { prompt: { type: 'string' } },
    run: async ({ prompt }, call) => {
      const { sampled } = await call.ask({ sampled: sample(String(prompt)) })
      return text(`LLM response: ${sampled.content?.text ?? 'No response'}`)
    },
  },
  test_elicitation: {
    input: { message: { type: 'string' } },
    run: async ({ message }, call) => {
      const { given } = await call.ask({ given: elicit(String(message), field('response')) })
      return text(`User response: action=${given.action}, content=${JSON.stringify(given.content ?? {})}`)
    },
  },
  test_elicitation_sep1034_defaults: round(
    { given: elicit('Please review and update the form fields with defaults', DEFAULTS) },
    ({ given }) => `Elicitation completed: action=${given.action}, content=${JSON.stringify(given.content ?? {})}`,
  ),
  test_elicitation_sep1330_enums: round(
    { given: elicit('Please select options from the enum fields', ENUMS) },
    ({ given }) => `Elicitation completed: action=${given.action}, content=${JSON.stringify(given.content ?? {})}`,
  ),
  test_streaming_elicitation: {
    async run(_args, call) {
      call.progress(1, 2)
      const { given } = await call.ask({ given: elicit('Go on?', field('ok', 'boolean')) })
      return text(`streamed ${given.action}`)
    },
  },
  json_schema_2020_12_tool: {
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
      properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
      additionalProperties: false,
    },
    run: args => text(`JSON Schema 2020-12 tool called with: ${JSON.stringify(args)}`),
  },
  test_missing_capability: {
    run(_args, call) {
      if (call.capabilities.sampling) return text('sampling was declared')
      const requiredCapabilities = { sampling: {} }
      throw new RpcError(-32021, 'the client has not declared sampling', { requiredCapabilities })
    },
  },
  test_trigger_tool_change: {
    run(_args, call) {
      call.changed('tools')
      return text('tools have changed')
    },
  },
  test_trigger_prompt_change: {
    run(_args, call) {
      call.changed('prompts')
      return text('prompts have changed')
    },
  },
  test_touch: {
    input: { uri: { type: 'string' } },
    run({ uri }, call) {
      call.updated(String(uri))
      return text('touched')
    },
  },
  test_input_required_result_elicitation: round(
    { user_name: elicit('What is your name?', field('name')) },
    ({ user_name }) => `Hello, ${user_name.content?.name}!`,
  ),
  test_input_required_result_sampling: round(
    { capital_question: sample('What is the capital of France?') },
    ({ capital_question }) => `The model said: ${capital_question.content?.text}`,
  ),
  test_input_required_result_list_roots: round(
    { client_roots: ROOTS },
    ({ client_roots }) => `Roots: ${JSON.stringify(client_roots.roots)}`,
  ),
  test_input_required_result_request_state: round(
    { confirm: elicit('Please confirm', field('ok', 'boolean')) },
    () => 'state-ok: the request state came back',
    'round-1',
  ),
  test_input_required_result_multiple_inputs: round(
    {
      user_name: elicit('What is your name?', field('name')),
      greeting: sample('Generate a greeting', 50),
      client_roots: ROOTS,
    },
    answers => `All of ${Object.keys(answers).sort().join(', ')}`,
    'several',
  ),
  test_input_required_result_multi_round: {
    async run(_args, call) {
      const name =
        call.state('second') ??
        (await call.ask({ step1: elicit('Step 1: What is your name?', field('name')) }, 'first')).step1.content?.name
      const { step2 } = await call.ask(
        { step2: elicit('Step 2: What is your favorite color?', field('color')) },
        'second',
        name,
      )
      return text(`${name} likes ${step2.content?.color}`)
    },
  },
  test_input_required_result_tampered_state: round(
    { confirm: elicit('Please confirm', field('ok', 'boolean')) },
    () => 'state-ok',
    'sealed',
  ),
  test_input_required_result_capabilities: {
    async run(_args, call) {
      const { sampling, elicitation, roots } = call.capabilities
      const answers = await call.ask({
        ...(sampling ? { model: sample('Say something') } : {}),
        ...(elicitation ? { person: elicit('Your name?', field('name')) } : {}),
        ...(roots ? { places: ROOTS } : {}),
      })
      return text(`asked for ${Object.keys(answers).join(', ')}`)
    },
  },
  /** One call that must be executed once and answered once, whatever happens on the way. */
  numbered: {
    input: { n: { type: 'integer' }, steps: { type: 'integer' }, ms: { type: 'integer' } },
    async run({ n, steps = 5, ms = 100 }, call) {
      if (process.env.JOURNAL) appendFileSync(process.env.JOURNAL, `${call.server} ${n}\n`)
      for (let step = 1; step <= steps; step++) {
        await pause(ms)
        call.progress(step, steps)
      }
      return text(`${call.server} ${n}`)
    },
  },
  big: { input: { bytes: { type: 'integer' } }, run: ({ bytes }) => text('x'.repeat(bytes)) },
}

const PROMPTS = {
  test_simple_prompt: { run: () => [user({ type: 'text', text: 'This is a simple prompt for testing.' })] },
  test_prompt_with_arguments: {
    arguments: ['arg1', 'arg2'],
    run: ({ arg1, arg2 }) => [user({ type: 'text', text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` })],
  },
  test_prompt_with_embedded_resource: {
    arguments: ['resourceUri'],
    run: ({ resourceUri }) => [
      user(embedded(resourceUri, 'Embedded resource content for testing.')),
      user({ type: 'text', text: 'Please process the embedded resource above.' }),
    ],
  },
  test_prompt_with_image: { run: () => [user(image), user({ type: 'text', text: 'Please analyze the image above.' })] },
  test_input_required_result_prompt: {
    async run(_args, call) {
      const { user_context } = await call.ask({ user_context: elicit('Which context?', field('context')) })
      return [user({ type: 'text', text: `In the context of ${user_context.content?.context}` })]
    },
  },
}

const RESOURCES = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched resource content' },
}
const TEMPLATE = /^test:\/\/template\/([^/]+)\/data$/

export const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
}

/** What a request is answered with; `call` is its way back to the client. Undefined for a method that is not known. */
export async function answer(method, params, call) {
  switch (method) {
    case 'tools/list':
      return {
        tools: Object.entries(TOOLS).map(([name, { input = {}, schema }]) => ({
          name,
          description: `The tool ${name}`,
          inputSchema: schema ?? { type: 'object', properties: input },
        })),
      }
    case 'tools/call':
      return known(TOOLS, params.name, 'tool').run(params.arguments ?? {}, call)
    case 'prompts/list':
      return {
        prompts: Object.entries(PROMPTS).map(([name, { arguments: given = [] }]) => ({
          name,
          description: `The prompt ${name}`,
          arguments: given.map(each => ({ name: each, required: true })),
        })),
      }
    case 'prompts/get':
      return { messages: await known(PROMPTS, params.name, 'prompt').run(params.arguments ?? {}, call) }
    case 'resources/list':
      return {
        resources: Object.entries(RESOURCES).map(([uri, { mimeType }]) => ({ uri, name: uri.slice(7), mimeType })),
      }
    case 'resources/templates/list':
      return {
        resourceTemplates: [
          { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' },
        ],
      }
    case 'resources/read':
      return { contents: [read(params.uri)] }
    case 'completion/complete':
      return { completion: { values: ['paris', 'park', 'party'], total: 150, hasMore: true } }
    default:
      return undefined
  }
}

function known(table, name, kind) {
  if (Object.hasOwn(table, name)) return table[name]
  throw new RpcError(-32602, `Unknown ${kind}: ${name}`)
}

function read(uri) {
  if (Object.hasOwn(RESOURCES, uri)) return { uri, ...RESOURCES[uri] }
  const [, id] = TEMPLATE.exec(uri) ?? []
  if (id === undefined) throw new RpcError(-32602, 'Resource not found', { uri })
  const value = { id, templateTest: true, data: `Data for ID: ${id}` }
  return { uri, mimeType: 'application/json', text: JSON.stringify(value) }
}

/** State that the client keeps: it comes back as it was, or not at all. */
export function seal(state) {
  const body = Buffer.from(JSON.stringify(state)).toString('base64url')
  return `${body}.${mac(body)}`
}

export function unseal(sealed) {
  if (sealed === undefined) return undefined
  const [body, given] = String(sealed).split('.')
  if (mac(body) !== given) throw new RpcError(-32602, 'the request state is not what was given out')
  return JSON.parse(Buffer.from(body, 'base64url').toString())
}

function mac(body) {
  return createHmac('sha256', KEY).update(body).digest('base64url')
}

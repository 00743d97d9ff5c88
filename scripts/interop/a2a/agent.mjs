// node agent.mjs LAB: an agent made with the public SDK, in both versions and over all three bindings. It prints its
// ports. Requests that did not come through the gateway, which marks them, are counted apart at `/seen`.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const { resolve } = createRequire(join(process.argv[2], 'package.json'))
const load = name => import(pathToFileURL(resolve(name)).href)
const [express, grpc, sdk, server, web, rpc, older] = await Promise.all(
  [
    'express',
    '@grpc/grpc-js',
    '@a2a-js/sdk',
    '@a2a-js/sdk/server',
    '@a2a-js/sdk/server/express',
    '@a2a-js/sdk/server/grpc',
    '@a2a-js/sdk/compat/v0_3/server/grpc',
  ].map(load),
)
const { AgentEvent } = server
const { TaskState } = sdk
const { UserBuilder } = web

const seen = { marked: 0, unmarked: 0, open: 0 }
const count = marked => seen[marked ? 'marked' : 'unmarked']++

/** Does what the message says: `echo …`, `count N`, `wait` until it is cancelled, `fail`. */
class Executor {
  #waiting = new Map()

  async execute({ taskId, contextId, task, userMessage }, bus) {
    const text = userMessage.parts.map(part => part.content?.value ?? '').join('')
    const about = { taskId, contextId, metadata: {} }
    const status = state => ({ state, message: undefined, timestamp: '2026-01-01T00:00:00.000Z' })
    const tell = state => bus.publish(AgentEvent.statusUpdate({ ...about, status: status(state) }))
    if (!task) {
      const begun = { id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED), artifacts: [] }
      bus.publish(AgentEvent.task({ ...begun, history: [userMessage], metadata: {} }))
    }
    tell(TaskState.TASK_STATE_WORKING)
    if (text.startsWith('fail')) throw new Error('told to fail')
    if (text.startsWith('wait')) {
      await new Promise(done => this.#waiting.set(taskId, done))
      this.#waiting.delete(taskId)
      tell(TaskState.TASK_STATE_CANCELED)
      return
    }
    const pieces = text.startsWith('count') ? Number(text.slice(6)) : 1
    for (let i = 0; i < pieces; i++) {
      const value = pieces > 1 ? `piece ${i}` : text
      const part = { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' }
      const artifact = { artifactId: 'a', name: 'answer', description: '', parts: [part], extensions: [], metadata: {} }
      bus.publish(AgentEvent.artifactUpdate({ ...about, artifact, append: i > 0, lastChunk: i === pieces - 1 }))
      if (pieces > 1) await new Promise(done => setTimeout(done, 50))
    }
    tell(TaskState.TASK_STATE_COMPLETED)
  }

  cancelTask = async taskId => this.#waiting.get(taskId)?.()
}

const app = express.default()
app.get('/seen', (_req, res) => res.json(seen))
app.use((req, res, next) => {
  count(req.headers['x-through'] === 'gateway')
  seen.open++
  res.on('close', () => seen.open--)
  next()
})
const listening = app.listen(0, '127.0.0.1')
await new Promise(done => listening.once('listening', done))
const { port } = listening.address()

const calls = new grpc.Server()
const grpcPort = await new Promise((done, fail) =>
  calls.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
    error ? fail(error) : done(bound),
  ),
)

const interfaces = ['1.0', '0.3'].flatMap(protocolVersion => [
  { url: `http://127.0.0.1:${port}/a2a/jsonrpc`, protocolBinding: 'JSONRPC', tenant: '', protocolVersion },
  { url: `http://127.0.0.1:${port}/a2a/rest`, protocolBinding: 'HTTP+JSON', tenant: '', protocolVersion },
  { url: `127.0.0.1:${grpcPort}`, protocolBinding: 'GRPC', tenant: '', protocolVersion },
])
const cardOf = supportedInterfaces => ({
  name: 'trial',
  description: 'An agent to try gateways with.',
  supportedInterfaces,
  provider: { organization: 'trials', url: 'https://example.com/provider' },
  documentationUrl: 'https://example.com/docs',
  version: '1.0.0',
  capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: [{ protected: 'eyJhbGciOiJFUzI1NiJ9', signature: 'c2ln', header: undefined }],
})

const store = new server.InMemoryTaskStore()
const pushes = new server.InMemoryPushNotificationStore()
const executor = new Executor()
const handlerOf = card =>
  new server.DefaultRequestHandler(card, store, executor, undefined, pushes, undefined, {
    ...card,
    description: 'The extended card.',
  })
const requestHandler = handlerOf(cardOf(interfaces))
const compat = { legacyCompat: { enabled: true }, userBuilder: UserBuilder.noAuthentication }

// A client takes the version that a card names first, so each has a card of its own, too.
const named = each => `/${each.protocolBinding.replace('HTTP+JSON', 'REST').toLowerCase()}-${each.protocolVersion}`
const cards = [['', interfaces], ...interfaces.map(each => [named(each), [each]])]
for (const [prefix, own] of cards) {
  const agentCardProvider = handlerOf(cardOf(own))
  for (const name of ['agent-card', 'agent']) {
    app.use(`${prefix}/.well-known/${name}.json`, web.agentCardHandler({ agentCardProvider, ...compat }))
  }
}
app.use('/a2a/jsonrpc', web.jsonRpcHandler({ requestHandler, ...compat }))
app.use('/a2a/rest', web.restHandler({ requestHandler, ...compat }))

/** Counts the calls of a service of gRPC, and those that are still open. */
function counted(service) {
  return Object.fromEntries(
    Object.entries(service).map(([name, serve]) => [
      name,
      (call, answer) => {
        count(call.metadata.get('x-through')[0] === 'gateway')
        seen.open++
        let open = true
        const closed = () => {
          if (open) seen.open--
          open = false
        }
        for (const event of ['cancelled', 'finish', 'close']) call.on(event, closed)
        return answer
          ? serve(call, (...args) => {
              closed()
              answer(...args)
            })
          : serve(call)
      },
    ]),
  )
}
const options = { requestHandler, userBuilder: UserBuilder.noAuthentication }
calls.addService(rpc.A2AService, counted(rpc.grpcService(options)))
calls.addService(older.LegacyA2AService, counted(older.legacyGrpcService(options)))

process.stdout.write(`${port} ${grpcPort}\n`)

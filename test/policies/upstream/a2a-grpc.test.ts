import { Client, credentials, type Metadata, Server, ServerCredentials, type ServiceDefinition } from '@grpc/grpc-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bytes, field, int32, message, repeated, text } from '../../../src/protobuf/message.ts'
import { until } from '../../engine/observe/until.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'

// As a2a.proto has them, with a field that nobody knows yet.
const inner = message({ url: field(1, text), binding: field(2, text), tenant: field(3, text), later: field(90, bytes) })
const older = message({
  name: field(1, text),
  url: field(3, text),
  preferred: field(14, text),
  more: repeated(15, inner),
  signatures: repeated(17, bytes),
  later: field(99, text),
})
const newer = message({
  name: field(1, text),
  interfaces: repeated(3, inner),
  signatures: repeated(13, bytes),
  later: field(99, text),
})
const status = message({ state: field(1, int32) })
const task = message({ id: field(1, text), status: field(3, status) })
const update = message({ taskId: field(1, text), status: field(3, status) })
const reply = message({ task: field(1, task), update: field(3, update) })

const signatures = [Buffer.from('signed')]
const later = Buffer.from('kept')
const card03 = older.encode({
  name: 'agent',
  url: 'http://10.0.0.1:7/a2a',
  preferred: 'JSONRPC',
  more: [{ url: 'https://10.0.0.1:8', binding: 'GRPC', later }],
  signatures,
  later: 'kept',
})
const card10 = newer.encode({
  name: 'agent',
  interfaces: [
    { url: 'http://10.0.0.1:7/a2a', binding: 'JSONRPC', tenant: 't', later },
    { url: '10.0.0.1:8', binding: 'GRPC' },
  ],
  signatures,
  later: 'kept',
})

const RPCS = {
  '/a2a.v1.A2AService/GetAgentCard': () => [card03],
  '/lf.a2a.v1.A2AService/GetExtendedAgentCard': () => [card10],
  '/lf.a2a.v1.A2AService/GetTask': () => [task.encode({ id: 't1', status: { state: 3 } })],
  '/lf.a2a.v1.A2AService/SendMessage': () => [reply.encode({ task: { id: 't2', status: { state: 6 } } })],
  '/a2a.v1.A2AService/TaskSubscription': () =>
    [2, 5].map(state => reply.encode({ update: { taskId: 't3', status: { state } } })),
} as const
const asIs = (value: Buffer) => value
const definition: ServiceDefinition = Object.fromEntries(
  Object.keys(RPCS).map(path => [
    path.replaceAll(/\W/g, '_'),
    {
      path,
      requestStream: false,
      responseStream: true,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    },
  ]),
)

let agent: Server
let gateway: TestGateway
let client: Client
let damaged = false
beforeAll(async () => {
  agent = new Server()
  const serve =
    (answer: () => readonly Uint8Array[]) => (call: { write(of: Buffer): void; end(of?: Metadata): void }) => {
      for (const each of answer()) call.write(Buffer.from(damaged ? each.subarray(0, -1) : each))
      call.end()
    }
  agent.addService(
    definition,
    Object.fromEntries(Object.entries(RPCS).map(([path, answer]) => [path.replaceAll(/\W/g, '_'), serve(answer)])),
  )
  const port = await new Promise<number>((resolve, reject) =>
    agent.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  )
  gateway = await startGateway(`
binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '127.0.0.1:${port}'}], policies: {a2a: {}}}]}]}]`)
  client = new Client(new URL(gateway.url(8080)).host, credentials.createInsecure())
})
afterAll(async () => {
  client?.close()
  agent?.forceShutdown()
  await gateway?.[Symbol.asyncDispose]()
})

async function call(path: keyof typeof RPCS): Promise<Buffer[]> {
  const got: Buffer[] = []
  for await (const each of client.makeServerStreamRequest(path, asIs, asIs, Buffer.alloc(0))) got.push(each)
  return got
}

test('agent cards over gRPC point to the gateway, in both versions', async () => {
  const { host } = new URL(gateway.url(8080))
  const [of03] = await call('/a2a.v1.A2AService/GetAgentCard')
  expect(older.decode(of03 as Buffer)).toEqual({
    name: 'agent',
    url: `http://${host}/a2a`,
    preferred: 'JSONRPC',
    more: [{ url: `http://${host}`, binding: 'GRPC', later }],
    signatures: [],
    later: 'kept',
  })
  const [of10] = await call('/lf.a2a.v1.A2AService/GetExtendedAgentCard')
  expect(newer.decode(of10 as Buffer)).toEqual({
    name: 'agent',
    interfaces: [
      { url: `http://${host}/a2a`, binding: 'JSONRPC', tenant: 't', later },
      { url: host, binding: 'GRPC' },
    ],
    signatures: [],
    later: 'kept',
  })
})

test('a corrupt card over gRPC fails, and other messages pass unchanged', async () => {
  damaged = true
  await expect(call('/lf.a2a.v1.A2AService/GetExtendedAgentCard')).rejects.toThrow()
  expect(await call('/lf.a2a.v1.A2AService/GetTask')).toHaveLength(1)
  damaged = false
})

test('tasks of gRPC calls are logged', async () => {
  const from = gateway.logged.length
  await call('/lf.a2a.v1.A2AService/GetTask')
  await call('/lf.a2a.v1.A2AService/SendMessage')
  await call('/a2a.v1.A2AService/TaskSubscription')
  const told = () =>
    gateway.logged
      .slice(from)
      .join('')
      .match(/(?<=protocol=a2a )a2a\.\S+( a2a\.\S+)*/g) ?? []
  await until(() => told().length === 3)
  expect(told()).toEqual([
    'a2a.method=GetTask a2a.task.id=t1 a2a.task.state=TASK_STATE_COMPLETED',
    'a2a.method=SendMessage a2a.task.id=t2 a2a.task.state=TASK_STATE_INPUT_REQUIRED',
    'a2a.method=TaskSubscription a2a.task.id=t3 a2a.task.state=TASK_STATE_CANCELED',
  ])
})

// The public SDK's clients of A2A, this year's and the last of 0.3, doing the same things. What they get is plain data.
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { doAll, plain } from './tasks.mjs'

const BINDINGS = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' }

/** What each does with the agent at a base URL, in one binding and one version. `python`: unset leaves its clients out. */
export async function loadClients(lab, python) {
  const { resolve } = createRequire(join(lab, 'package.json'))
  const load = name => import(pathToFileURL(resolve(name)).href)
  const [client, grpc, older, olderGrpc] = await Promise.all(
    ['@a2a-js/sdk/client', '@a2a-js/sdk/client/grpc', 'a2a-older/client', 'a2a-older/client/grpc'].map(load),
  )
  const all = []
  for (const binding of Object.keys(BINDINGS)) {
    for (const version of ['1.0', '0.3']) {
      const name = `SDK 1.3, ${version} over ${binding}`
      const connect = base => current(client, grpc, base, binding, version)
      all.push({ name, run: async (base, idle) => doAll(await connect(base), idle) })
      if (python) {
        const called = `Python SDK 1.3, ${version} over ${binding}`
        all.push({ name: called, run: base => inPython(python, [base, binding, version]) })
      }
    }
    const connect = base => last03(older, olderGrpc, base, binding)
    all.push({ name: `SDK 0.3, over ${binding}`, run: async (base, idle) => doAll(await connect(base), idle) })
  }
  return all
}

async function inPython(python, args) {
  const script = fileURLToPath(new URL('client.py', import.meta.url))
  const { stdout } = await promisify(execFile)(python, [script, ...args], { timeout: 120_000, maxBuffer: 1 << 26 })
  return Object.fromEntries(Object.entries(JSON.parse(stdout)).map(([task, result]) => [task, plain(result)]))
}

/** The client as it finds itself by the agent's card, and what the two generations call differently. */
async function current(
  { ClientFactory, DefaultAgentCardResolver, ...http },
  { GrpcTransportFactory },
  base,
  binding,
  version,
) {
  const compat = { legacyCompat: { enabled: true } }
  const factory = new ClientFactory({
    transports: [http.JsonRpcTransportFactory, http.RestTransportFactory, GrpcTransportFactory].map(
      Transport => new Transport(compat),
    ),
    cardResolver: new DefaultAgentCardResolver(compat),
  })
  const client = await factory.createFromUrl(`${base}/${binding}-${version}/`, '.well-known/agent-card.json')
  const configuration = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: false }
  const message = (text, returnImmediately = false) => ({
    tenant: '',
    metadata: {},
    configuration: { ...configuration, returnImmediately },
    message: {
      messageId: crypto.randomUUID(),
      role: 1,
      parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' }],
      contextId: '',
      taskId: '',
      extensions: [],
      referenceTaskIds: [],
      metadata: undefined,
    },
  })
  const of = taskId => ({ tenant: '', taskId, id: 'p1' })
  return {
    card: () => client.getAgentCard(),
    send: text => client.sendMessage(message(text)),
    begin: text => client.sendMessage(message(text, true)),
    stream: (text, signal) => client.sendMessageStream(message(text), { signal }),
    get: id => client.getTask({ tenant: '', id }),
    cancel: id => client.cancelTask({ tenant: '', id, metadata: undefined }),
    resubscribe: (id, signal) => client.resubscribeTask({ tenant: '', id }, { signal }),
    setPush: taskId => client.createTaskPushNotificationConfig({ ...of(taskId), ...PUSH, authentication: undefined }),
    getPush: taskId => client.getTaskPushNotificationConfig(of(taskId)),
    listPush: taskId => client.listTaskPushNotificationConfig({ ...of(taskId), pageSize: 0, pageToken: '' }),
    deletePush: taskId => client.deleteTaskPushNotificationConfig(of(taskId)),
    ...(version === '0.3'
      ? {}
      : { list: contextId => client.listTasks({ tenant: '', contextId, status: 0, pageToken: '' }) }),
  }
}

async function last03({ ClientFactory, ...http }, { GrpcTransportFactory }, base, binding) {
  const factory = new ClientFactory({
    transports: [http.JsonRpcTransportFactory, http.RestTransportFactory, GrpcTransportFactory].map(
      Transport => new Transport(),
    ),
    preferredTransports: [BINDINGS[binding]],
  })
  const client = await factory.createFromUrl(`${base}/`)
  const message = (text, blocking = true) => ({
    message: { kind: 'message', messageId: crypto.randomUUID(), role: 'user', parts: [{ kind: 'text', text }] },
    configuration: { blocking },
  })
  const of = id => ({ id, pushNotificationConfigId: 'p1' })
  return {
    card: () => client.getAgentCard(),
    send: text => client.sendMessage(message(text)),
    begin: text => client.sendMessage(message(text, false)),
    stream: (text, signal) => client.sendMessageStream(message(text), { signal }),
    get: id => client.getTask({ id }),
    cancel: id => client.cancelTask({ id }),
    resubscribe: (id, signal) => client.resubscribeTask({ id }, { signal }),
    setPush: taskId => client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig: { id: 'p1', ...PUSH } }),
    getPush: taskId => client.getTaskPushNotificationConfig(of(taskId)),
    listPush: taskId => client.listTaskPushNotificationConfig({ id: taskId }),
    deletePush: taskId => client.deleteTaskPushNotificationConfig(of(taskId)),
  }
}

const PUSH = { url: 'http://127.0.0.1:9/push', token: 'secret' }

// The public SDK's clients of A2A, this year's and the last of 0.3, doing the same things. What they get is plain data.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const BINDINGS = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON', grpc: 'GRPC' }

/** By name: what connects to the agent at a base URL, in one binding and one version. */
export async function loadClients(lab) {
  const { resolve } = createRequire(join(lab, 'package.json'))
  const load = name => import(pathToFileURL(resolve(name)).href)
  const [client, grpc, older, olderGrpc] = await Promise.all(
    ['@a2a-js/sdk/client', '@a2a-js/sdk/client/grpc', 'a2a-older/client', 'a2a-older/client/grpc'].map(load),
  )
  const all = []
  for (const binding of Object.keys(BINDINGS)) {
    for (const version of ['1.0', '0.3']) {
      const name = `SDK 1.3, ${version} over ${binding}`
      all.push({ name, version, binding, connect: base => current(client, grpc, base, binding, version) })
    }
    const connect = base => last03(older, olderGrpc, base, binding)
    all.push({ name: `SDK 0.3, over ${binding}`, version: '0.3', binding, connect })
  }
  return all
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

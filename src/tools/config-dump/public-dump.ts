// Converts dumps of the public system to our format, as far as the views show them.
import type { Dump } from './read.ts'

type Fields = Readonly<Record<string, unknown>>

/** Undefined if the dump is not the public system's. */
export function publicDump(dump: Dump): Dump | undefined {
  const binds = listOf(dump.binds)
  if ('listeners' in dump || !binds.every(bind => isFields(bind.listeners))) return undefined
  const listeners = binds.flatMap(bind =>
    Object.entries(bind.listeners as Fields).map(([key, value]) => ({
      bind: textOf(bind.key),
      key,
      of: fieldsOf(value),
    })),
  )
  const routes = listeners.flatMap(listener => [
    ...Object.entries(fieldsOf(listener.of.routes)).map(entry => routeOf('http', listener.key, entry)),
    ...Object.entries(fieldsOf(listener.of.tcpRoutes)).map(entry => routeOf('tcp', listener.key, entry)),
  ])
  return {
    binds: binds.map(bind => ({
      key: textOf(bind.key),
      port: Number(/:(\d+)$/.exec(textOf(bind.address))?.[1] ?? 0),
      protocol: ['tls', 'tcp'].includes(textOf(bind.protocol)) ? bind.protocol : 'http',
      listeners: Object.keys(bind.listeners as Fields),
      origin: '',
    })),
    listeners: listeners.map(({ bind, key, of }) => ({
      key,
      name: textOf(of.listenerName ?? of.name),
      gateway: `${textOf(of.gatewayNamespace)}/${textOf(of.gatewayName)}`,
      bind,
      hostname: textOf(of.hostname) === '*' ? '' : textOf(of.hostname),
      protocol: isFields(of.protocol) ? Object.keys(of.protocol)[0] : textOf(of.protocol) || 'HTTP',
      policies: {},
      routes: Object.keys(fieldsOf(of.routes)),
      origin: '',
    })),
    routes,
    backends: listOf(dump.backends).flatMap(backendOf),
    policies: listOf(dump.policies),
    models: modelsOf(dump),
    services: listOf(dump.services),
    workloads: listOf(dump.workloads),
    version: fieldsOf(dump.version),
    config: dump.config ?? {},
  }
}

function routeOf(kind: 'http' | 'tcp', listener: string, [key, value]: readonly [string, unknown]) {
  const route = fieldsOf(value)
  return {
    key,
    name: textOf(route.name),
    namespace: textOf(route.namespace),
    ...(typeof route.ruleName === 'string' ? { ruleName: route.ruleName } : {}),
    kind,
    listener,
    hostnames: Array.isArray(route.hostnames) ? route.hostnames.map(textOf) : [],
    matches: listOf(route.matches),
    policies: policiesOf(route.inlinePolicies),
    backends: listOf(route.backends).map(use => ({
      backend: referenceOf(use),
      weight: typeof use.weight === 'number' ? use.weight : 1,
      policies: policiesOf(use.inlinePolicies),
      origin: '',
    })),
    origin: '',
  }
}

function referenceOf(use: Fields): string {
  if (typeof use.backend === 'string') return use.backend
  // For a TCP route.
  if (isFields(use.backend)) return referenceOf(use.backend)
  const service = fieldsOf(use.service)
  if ('name' in service) return `service ${JSON.stringify(service.name)}:${textOf(service.port)}`
  const [kind = 'invalid'] = Object.keys(use).filter(name => name !== 'weight' && name !== 'inlinePolicies')
  return kind
}

function backendOf(entry: Fields) {
  return Object.entries(fieldsOf(entry.backend)).map(([kind, value]) => {
    const { name, namespace, target, ...rest } = fieldsOf(value)
    const key = `${textOf(namespace)}/${textOf(name)}`
    return { key, name: textOf(name), kind, protocol: kind, spec: target ?? rest, origin: '' }
  })
}

/** Later versions list the models; in 1.4 they are in the router that selects among them. */
function modelsOf(dump: Dump) {
  const own = listOf(dump.models).map(model => ({ ...fieldsOf(fieldsOf(model.kind).concrete), ...model }))
  const routers = listOf(dump.backends).map(entry => fieldsOf(fieldsOf(fieldsOf(entry.backend).llmRouter).target))
  const providers = new Map(listOf(dump.backends).flatMap(providerOf))
  return [
    ...own,
    ...routers.flatMap(({ models, virtualModels }) => [
      ...listOf(models).map(model => {
        const backend = referenceOf(fieldsOf(model.backend))
        return { ...model, backend, ...providers.get(backend) }
      }),
      ...listOf(virtualModels).map(model => ({ ...model, virtual: true })),
    ]),
  ]
}

/** The provider of a model's backend, by the backend's key. */
function providerOf(entry: Fields): [string, Fields][] {
  const { name, namespace, target } = fieldsOf(fieldsOf(entry.backend).ai)
  const [group] = listOf(fieldsOf(target).providers)
  const [first] = Object.values(fieldsOf(group?.active))
  const provider = fieldsOf(fieldsOf(fieldsOf(first).endpoint).provider)
  const [kind] = Object.keys(provider)
  if (kind === undefined) return []
  return [[`${textOf(namespace)}/${textOf(name)}`, { provider: kind, params: fieldsOf(provider[kind]) }]]
}

/** `[{cors: {…}}, {timeout: {…}}]` */
function policiesOf(value: unknown): Fields {
  const named = listOf(value).flatMap(each => Object.entries(each))
  return Object.fromEntries(named.map(([name, spec]) => [name, { spec, origins: [] }]))
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : []
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

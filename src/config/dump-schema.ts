import { type Infer, integer, json, list, map, number, object, oneOf, opt, req, string } from '../schema/builder.ts'

/**
 * What a configuration dump looks like to whoever reads it: `schemas/config-dump.schema.json` is made of it. Later
 * versions may add fields, so that readers have to ignore what they do not know.
 */
const grows = { open: true }
const place = string()
const origin = req(place, '`file:line:column` that made it.')
const any = map(json)

const policy = object(
  'policy in force',
  {
    spec: opt(json, 'As it was written; secrets are `<redacted>`.'),
    origins: req(list(place), 'Where it was written; several when rules accumulate.'),
    overridden: opt(list(place), 'Where wider levels have written it too, without effect here.'),
  },
  grows,
)
const policies = req(map(policy), 'By name, those in force here.')

const bind = object(
  'bind',
  {
    key: req(string(), 'Key.'),
    port: req(integer(0, 65535), 'Port as it was configured.'),
    protocol: req(oneOf(['http', 'tls', 'tcp']), 'What the first bytes of a connection are.'),
    listeners: req(list(string()), 'Keys of its listeners.'),
    origin,
  },
  grows,
)

const listener = object(
  'listener',
  {
    key: req(string(), 'Key.'),
    name: req(string(), 'Name.'),
    gateway: req(string(), 'The gateway that it belongs to.'),
    bind: req(string(), 'Key of its bind.'),
    hostname: req(string(), 'Exact, `*.suffix`, or empty for every host.'),
    protocol: req(oneOf(['HTTP', 'HTTPS', 'TLS', 'TCP', 'HBONE']), 'Protocol.'),
    policies,
    routes: req(list(string()), 'Keys of its routes.'),
    origin,
  },
  grows,
)

const use = object(
  'use of a backend',
  {
    backend: req(string(), 'Key of the backend.'),
    weight: req(number(0), 'Share of the requests.'),
    routeGroup: opt(string(), 'The group of routes that it delegates to.'),
    routes: opt(list(string()), 'Keys of the routes of that group.'),
    policies,
    origin,
  },
  grows,
)

const route = object(
  'route',
  {
    key: req(string(), 'Key.'),
    name: req(string(), 'Name.'),
    namespace: req(string(), 'Namespace.'),
    ruleName: opt(string(), 'Name of the rule.'),
    kind: req(oneOf(['http', 'tcp']), 'What it routes: requests or connections.'),
    listener: req(string(), 'Key of its listener.'),
    hostnames: req(list(string()), 'Hosts; every one when empty.'),
    matches: req(list(any), 'Conditions of which one has to hold.'),
    policies,
    backends: req(list(use), 'Where requests go, by weight.'),
    origin,
  },
  grows,
)

const backend = object(
  'backend',
  {
    key: req(string(), 'Key.'),
    name: req(string(), 'Name.'),
    kind: req(string(), 'Kind.'),
    protocol: req(string(), 'What is spoken to it.'),
    spec: opt(json, 'As it was written; secrets are `<redacted>`.'),
    health: opt(json, 'How its endpoints do.'),
    origin,
  },
  grows,
)

export const configDump = object(
  'configuration dump',
  {
    binds: req(list(bind), 'Open ports.'),
    listeners: req(list(listener), 'Listeners of the ports.'),
    routes: req(list(route), 'Routes of the listeners.'),
    backends: req(list(backend), 'Backends, named ones and those of routes.'),
    policies: req(list(any), 'Policies with targets, as they were written.'),
    models: opt(list(any), 'Models of the `llm` section, as they were written.'),
    services: req(list(any), 'Services of the file.'),
    workloads: req(list(any), 'Workloads of the file.'),
    version: req(any, 'The version of the gateway.'),
    config: req(json, 'Settings of the process, as they were written.'),
  },
  grows,
)

export type DumpDocument = Infer<typeof configDump>

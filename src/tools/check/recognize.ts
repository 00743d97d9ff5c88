import { backendFields } from '../../backends/index.ts'
import { standalone } from '../../config/standalone/standalone.ts'
import type { Finding } from '../../diagnostics/diagnostic.ts'
import type { SourceDocument } from '../../diagnostics/source.ts'
import { closest } from '../../diagnostics/suggest.ts'
import { listenerPolicyFields } from '../../policies/index.ts'
import { fieldsMeant } from '../../schema/meant.ts'
import { foreignKind, hintFor } from './foreign-kinds.ts'

/**
 * Classifies a document that was not named explicitly: one of a directory, a glob or a commit. A single key is weak
 * evidence (`services`, `routes` and `config` are common), so the values must look like ours as well.
 */
export type Recognized =
  | { readonly kind: 'standalone' | 'resource' | 'nothing' }
  | { readonly kind: 'foreign'; readonly reason: string }

type Fields = Readonly<Record<string, unknown>>

export function recognize(document: SourceDocument): Recognized {
  const { value } = document
  if (document.empty || document.broken || value === null || value === undefined) return { kind: 'nothing' }
  if (Array.isArray(value)) return foreign('a list')
  if (typeof value !== 'object') return foreign('plain text')
  const fields = value as Fields
  if ('kind' in fields || 'apiVersion' in fields) return recognizeResource(fields)
  if (lacksResourceKeys(fields)) return { kind: 'resource' }
  const keys = Object.keys(fields)
  if (keys.length === 0) return foreign('an empty map')
  if (isMap(fields.sops)) return foreign('encrypted with SOPS: check what `sops --decrypt` prints')
  return looksStandalone(fields, keys) ? { kind: 'standalone' } : foreign(foreignKind(fields) ?? listed(keys))
}

/** A named document that is certainly not ours gets one finding, not one for each of its keys. */
export function foreignDocument(document: SourceDocument): Finding | undefined {
  const found = recognize(document)
  if (found.kind !== 'foreign' || !isMap(document.value)) return undefined
  const keys = Object.keys(document.value)
  const kind = foreignKind(document.value)
  const message =
    kind !== undefined
      ? `this looks like ${kind}, not like a configuration of the gateway`
      : isMap(document.value.sops)
        ? 'this file is encrypted with SOPS'
        : keys.length > 1 && keys.every(key => !isMeant(key))
          ? `nothing in this file is for the gateway (${listed(keys)})`
          : undefined
  if (message === undefined) return undefined
  const help = kind === undefined && isMap(document.value.sops) ? 'check what `sops --decrypt` prints' : hintFor(kind)
  return { code: 'GW009', message, path: [keys[0]!], at: 'key', label: 'not for the gateway', help }
}

/** A section, possibly misspelt, or another tool's name for one, or a field that belongs into one. */
function isMeant(key: string): boolean {
  return (
    sectionOf(key) !== undefined ||
    fieldsMeant(key, standalone.node.fields).length > 0 ||
    ['listeners', 'models', 'targets', 'port', 'http', ...GATEWAY_FIELDS].includes(key)
  )
}

function foreign(reason: string): Recognized {
  return { kind: 'foreign', reason }
}

function listed(keys: readonly string[]): string {
  return `keys: ${keys.slice(0, 4).join(', ')}${keys.length > 4 ? ', …' : ''}`
}

const OUR_GROUP = /^(?:gateway\.networking\.k8s\.io|inference\.networking\.k8s\.io|agentgateway\.dev)(?:\/|$)/
const OUR_KIND =
  /^(?:Gateway|GatewayClass|ListenerSet|(?:HTTP|GRPC|TCP|TLS|UDP)Route|ReferenceGrant|BackendTLSPolicy|InferencePool|(?:Proxy|Agentgateway)(?:Backend|Model|Policy|Parameters))$/

/**
 * Chart.yaml, Grafana and others have an `apiVersion` too; a resource has both keys, or a field that only ours have.
 */
function recognizeResource(fields: Fields): Recognized {
  const { apiVersion, kind } = fields
  if (typeof apiVersion === 'string' && typeof kind === 'string') return { kind: 'resource' }
  const ours = (typeof apiVersion === 'string' && OUR_GROUP.test(apiVersion)) || OUR_KIND.test(String(kind))
  if (ours && (isMap(fields.metadata) || isMap(fields.spec))) return { kind: 'resource' }
  return foreign(foreignKind(fields) ?? listed(Object.keys(fields)))
}

/** Both keys are misspelt: `apiversion` and `Kind`. */
function lacksResourceKeys(fields: Fields): boolean {
  const values = Object.values(fields)
  return (
    isMap(fields.spec) &&
    isMap(fields.metadata) &&
    values.some(value => typeof value === 'string' && (OUR_KIND.test(value) || OUR_GROUP.test(value)))
  )
}

const SECTIONS = Object.keys(standalone.node.fields)

/** A section whose value is specific to us, however its key is spelt, and few foreign keys. */
function looksStandalone(fields: Fields, keys: readonly string[]): boolean {
  const sections = keys.map(key => ({ key, section: sectionOf(key), value: fields[key] }))
  const fitting = sections.filter(({ section, value }) => section !== undefined && SHAPES[section]?.(value) === true)
  const known = sections.filter(({ section, value }) => section !== undefined && !hasOtherShape(section, value)).length
  const others = keys.filter(key => !/^x-|^\$schema$/.test(key)).length - known
  if (sections.some(({ value }) => isBinds(value))) return others <= 2 * (known + 1)
  const strong = fitting.some(({ section }) => STRONG.has(section!))
  return strong ? others <= known : fitting.length > 0 && others < Math.max(fitting.length, 2) && others < known + 1
}

function sectionOf(key: string): string | undefined {
  if (SECTIONS.includes(key)) return key
  const near = closest(key, SECTIONS)
  return near.length === 1 ? near[0] : undefined
}

/** Of another type than the section: in a compose file, services are a map, not a list. */
function hasOtherShape(section: string, value: unknown): boolean {
  if (value === null) return false
  return LISTS.has(section) ? !Array.isArray(value) : !isMap(value)
}

const LISTS = new Set(['binds', 'policies', 'services', 'workloads', 'backends', 'routeGroups', 'routes', 'tcpRoutes'])
const STRONG = new Set(['binds', 'gateways', 'frontendPolicies', 'policies', 'services', 'workloads', 'tcpRoutes'])

const BACKENDS = Object.keys(backendFields)
const GATEWAY_FIELDS = ['port', 'protocol', 'tls', 'listeners', ...Object.keys(listenerPolicyFields)]

/** Per section: whether a value is unlikely to come from another tool with the same key. */
const SHAPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  binds: value =>
    isEmpty(value) || some(value, each => has(each, 'listeners') || (has(each, 'port') && within(each, BIND_FIELDS))),
  gateways: value => isMap(value) && some(Object.values(value), isGateway),
  routes: value => some(value, isRoute),
  tcpRoutes: value => some(value, each => some(at(each, 'backends'), isBackend)),
  routeGroups: value => some(value, each => some(at(each, 'routes'), isRoute)),
  backends: value => some(value, each => has(each, 'name') && isBackend(each) && within(each, BACKEND_FIELDS)),
  policies: value => some(value, each => has(each, 'target') && isMap(at(each, 'policy'))),
  services: value => some(value, each => has(each, 'hostname') && has(each, 'vips')),
  workloads: value => some(value, each => has(each, 'workloadIps')),
  frontendPolicies: value => isMap(value),
  config: value => isMap(value) && CONFIG.some(key => has(value, key)),
  llm: value =>
    isMap(value) &&
    (isEmpty(at(value, 'models')) ||
      some(at(value, 'models'), each => has(each, 'name') && (has(each, 'provider') || has(each, 'params'))) ||
      has(value, 'virtualModels')),
  mcp: value =>
    isMap(value) && some(at(value, 'targets'), each => has(each, 'name') && TARGETS.some(k => has(each, k))),
}

const BIND_FIELDS = ['port', 'listeners', 'tunnelProtocol', 'mode']
const BACKEND_FIELDS = ['name', 'namespace', 'policies', 'weight', ...BACKENDS]
const CONFIG = [
  'adminAddr',
  'statsAddr',
  'readinessAddr',
  'workerThreads',
  'xdsAddress',
  'connectionTerminationDeadline',
]
const TARGETS = ['stdio', 'mcp', 'sse', 'openapi', 'host', 'backend']

/** Recognizable by value alone: ports with listeners with routes. */
function isBinds(value: unknown): boolean {
  return some(
    value,
    each => has(each, 'port') && some(at(each, 'listeners'), inner => has(inner, 'routes') || has(inner, 'tcpRoutes')),
  )
}

function isGateway(value: unknown): boolean {
  if (!isMap(value) || !(has(value, 'port') || has(value, 'listeners'))) return false
  return within(value, GATEWAY_FIELDS)
}

function isRoute(value: unknown): boolean {
  if (!isMap(value)) return false
  if (some(at(value, 'backends'), isBackend)) return true
  const matches = at(value, 'matches')
  const paths = some(matches, each => isMap(at(each, 'path')))
  return paths && (has(value, 'policies') || has(value, 'backends') || has(value, 'gateways'))
}

function isBackend(value: unknown): boolean {
  return isMap(value) && BACKENDS.some(key => has(value, key))
}

/** All keys but one are among these; that one is misspelt. */
function within(value: Fields, names: readonly string[]): boolean {
  return Object.keys(value).filter(key => !names.some(name => isLike(key, name))).length <= 1
}

function some(list: unknown, holds: (each: Fields) => boolean): boolean {
  return Array.isArray(list) && list.some(each => isMap(each) && holds(each))
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function has(fields: Fields, name: string): boolean {
  return Object.keys(fields).some(key => isLike(key, name))
}

/** The value of a key, even if it is misspelt. */
function at(fields: Fields, name: string): unknown {
  const key = Object.hasOwn(fields, name) ? name : Object.keys(fields).find(each => isLike(each, name))
  return key === undefined ? undefined : fields[key]
}

/** `listners` for `listeners`; short words are too similar to one another. */
function isLike(key: string, name: string): boolean {
  return key === name || (name.length > 3 && closest(key, [name]).length > 0)
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a text that cannot be parsed was meant for the gateway. */
export function looksLikeOurs(text: string): boolean {
  return (
    /^(?:binds|tcpRoutes|routeGroups|frontendPolicies)\s*:/m.test(text) ||
    (/^gateways\s*:/m.test(text) && /^\s+["']?port\s*:/m.test(text)) ||
    (/^(?:llm|mcp|routes)\s*:/m.test(text) && /^\s*(?:- *)?(?:models|targets|backends)\s*:/m.test(text)) ||
    /^\s*["']?apiVersion["']?\s*:\s*["']?(?:gateway\.networking\.k8s\.io|agentgateway\.dev)\//m.test(text) ||
    /^\s*["']?kind["']?\s*:\s*["']?(?:(?:Proxy|Agentgateway)(?:Backend|Model|Policy|Parameters)|(?:HTTP|GRPC)Route)\b/m.test(
      text,
    )
  )
}

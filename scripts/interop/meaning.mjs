// What a runtime resource of the public controller means, looked up in a standalone file.

import { createHash } from 'node:crypto'

/** Each part of a runtime resource that the file does not hold: its resource's name, and what it is in words. */
export function missingOf(resource, file) {
  const [[kind, value]] = Object.entries(resource)
  return (CHECKS[kind] ?? (() => []))(value, file)
}

const CHECKS = {
  bind: bindMissing,
  listener: listenerMissing,
  route: routeMissing,
  tcpRoute: routeMissing,
  backend: backendMissing,
  policy: policyMissing,
  modelRoute: modelMissing,
}

/** `PORT/NAMESPACE/GATEWAY`. */
function bindMissing({ key }, file) {
  const [port, namespace, name] = key.split('/')
  const found = file.gateways?.[`${namespace}.${name}.${port}`]
  return found?.port === Number(port) ? [] : [{ name, what: `bind ${key}` }]
}

function listenerMissing({ bindKey, name, protocol, hostname, tls }, file) {
  const [port, namespace, gateway] = bindKey.split('/')
  const own = name.listenerSet
    ? `${name.listenerSet.namespace}.${name.listenerSet.name}.${name.listenerName}`
    : name.listenerName
  const found = (file.gateways?.[`${namespace}.${gateway}.${port}`]?.listeners ?? []).find(each => each.name === own)
  const who = name.listenerSet?.name ?? gateway
  if (!found) return [{ name: who, what: `listener ${own} of ${bindKey}` }]
  const differs = []
  if ((found.protocol ?? 'HTTP') !== protocol) differs.push('protocol')
  if ((found.hostname ?? '*') !== (hostname || '*')) differs.push('hostname')
  if ((tls !== undefined) !== (found.tls !== undefined) && protocol !== 'TLS') differs.push('tls')
  return differs.map(field => ({ name: who, what: `${field} of listener ${own}` }))
}

function routeMissing(route, file) {
  const { name, hostnames = [], matches, backends = [], trafficPolicies = [] } = route
  const all = [...(file.routes ?? []), ...(file.tcpRoutes ?? [])]
  const own = all.filter(
    // What no child takes stands under the parent's name with `~` behind it.
    each =>
      each.namespace === name.namespace &&
      [name.name, `${name.name}.grpc`].includes(each.name.replace(/~$/, '').split('~').at(-1)),
  )
  const label = `${name.kind} ${name.namespace}/${name.name}`
  if (own.length === 0) return [{ name: name.name, what: label }]
  const missing = []
  const wanted = (matches ?? []).map(sameMatch)
  // Delegated routes are matched within their parents' there as here, but the file says both at once.
  const rules = own.filter(({ matches: have = [] }) =>
    wanted.every(match => have.some(each => covers(sameMatch(each), match, route))),
  )
  if (rules.length === 0) return [{ name: name.name, what: `${label}: matches ${wanted.join(' ')}` }]
  if (!rules.some(({ hostnames: have = [] }) => hostnames.every(host => have.includes(host)))) missing.push('hostnames')
  for (const backend of backends) {
    if (!rules.some(({ backends: have = [] }) => have.some(each => sameBackend(each, backend)))) {
      // A group of routes is in the file as the routes themselves.
      if (backend.routeGroupKey === undefined) missing.push(`backend ${JSON.stringify(backend)}`)
    }
  }
  for (const policy of trafficPolicies) {
    for (const [key, body] of Object.entries(policy)) missing.push(...memberMissing(key, body, rules))
  }
  return missing.map(what => ({ name: name.name, what: `${label}: ${what}` }))
}

function sameMatch({ path, method, headers = [], query = [] }) {
  const value = each =>
    `${each.name.toLowerCase()}=${each.value?.exact ?? each.exact ?? each.value?.regex ?? each.regex ?? each.value}`
  const at = path ?? { pathPrefix: '/' }
  // A service without a method is a prefix; the public controller takes it for the whole path.
  const [kind, text] = Object.entries(at)[0] ?? []
  const name = typeof method === 'object' ? method?.exact : method
  return [
    `${kind}:${String(text).replace(/(.)\/$/, '$1')}`,
    name ?? '',
    ...headers.map(value).sort(),
    ...query.map(value).sort(),
  ].join('|')
}

function covers(have, want, { routeGroupKey, name }) {
  if (have === want) return true
  if (name.kind === 'GRPCRoute') return have.replace(/^\w+:/, '') === want.replace(/^\w+:/, '')
  return routeGroupKey !== undefined && have.split('|')[0].length >= want.split('|')[0].length
}

function sameBackend(have, { weight = 1, backend }) {
  if (backend === undefined || Object.keys(backend).length === 0) return 'invalid' in have
  if (backend.service) {
    const { service, port } = backend
    return (
      'invalid' in have ||
      have.host === `${service.hostname}:${port}` ||
      String(have.host).endsWith(`:${port}`) ||
      weight === 0
    )
  }
  return (
    'invalid' in have ||
    have.backend === `${backend.backend}` ||
    have.dynamic !== undefined ||
    `/${have.backend}` === backend.backend
  )
}

function backendMissing({ key, static: fixed, mcp, ai, dynamic, inlinePolicies = [] }, file) {
  const [namespace, name, section] = key.split('/')
  const label = `backend ${key}`
  const models = [...(file.llm?.models ?? []), ...(file.llm?.virtualModels ?? [])]
  if (section?.startsWith('backend.') || section?.startsWith('failover.')) {
    return models.some(each => each.id === `${namespace}/${name}` || each.name === name) ? [] : [{ name, what: label }]
  }
  const found = (file.backends ?? []).find(each => each.namespace === namespace && each.name === name)
  if (dynamic) return leavesMissing({}, file).map(what => ({ name, what }))
  if (!found) return [{ name, what: label }]
  const missing = []
  if (fixed && !section) {
    const address = fixed.unixPath ? `unix:${fixed.unixPath}` : `${fixed.host}:${fixed.port}`
    if (found.host !== address) missing.push(`address ${address}`)
  }
  // A target of an MCP backend is a backend of its own there.
  if (fixed && section) missing.push(...leavesMissing(fixed, found.mcp ?? {}))
  for (const target of mcp?.targets ?? []) {
    const { backend: _own, protocol, path, ...rest } = target
    const have = (found.mcp?.targets ?? []).find(each => each.name === target.name)
    if (!have) missing.push(`target ${target.name}`)
    else if (path && ![path, `/${path}`].includes((have.mcp ?? have.sse)?.path))
      missing.push(`path of target ${target.name}`)
    else if ((protocol === 'SSE') !== (have.sse !== undefined) && protocol)
      missing.push(`protocol of target ${target.name}`)
    else missing.push(...leavesMissing(rest, have))
  }
  if (ai) missing.push(...leavesMissing(ai, found))
  for (const policy of inlinePolicies) {
    for (const [member, body] of Object.entries(policy)) missing.push(...memberMissing(member, body, found))
  }
  return missing.map(what => ({ name, what: `${label}: ${what}` }))
}

function modelMissing({ key, match }, file) {
  const [namespace, rest] = key.split('/')
  const name = rest.split('.')[0]
  const all = [...(file.llm?.models ?? []), ...(file.llm?.virtualModels ?? [])]
  const found = all.some(each => each.id === `${namespace}/${name}` || each.name === match?.model || each.name === name)
  return found ? [] : [{ name, what: `model ${key}` }]
}

/** What the members of the runtime policies are called in a file. */
const MEMBERS = {
  authorization: 'authorization',
  jwt: 'jwtAuth',
  basicAuth: 'basicAuth',
  apiKeyAuth: 'apiKey',
  logging: 'accessLog',
  backendTls: 'backendTLS',
  backendHttp: 'http',
  backendTcp: 'tcp',
  auth: 'backendAuth',
  transformation: 'transformations',
  hostRewrite: 'urlRewrite',
  networkAuthorization: 'networkAuthorization',
  metrics: 'metrics',
}

function policyMissing({ name, key, target, conditional, ...sections }, file) {
  const [, , suffix = ''] = key.split(':').length > 1 ? key.split(':') : []
  // Nothing in the file calls what the policy aims at.
  if (target?.service && !JSON.stringify(file).includes(addressOf(target.service))) return []
  const label = `policy ${name?.namespace ?? ''}/${name?.name ?? key} ${key.split(':')[1] ?? suffix}`
  const bodies = conditional
    ? (conditional.policies ?? []).flatMap(each => Object.values(each).filter(part => typeof part === 'object'))
    : ['traffic', 'backend', 'frontend'].flatMap(section => sections[section] ?? [])
  const missing = bodies.flatMap(body =>
    Object.entries(body.traffic ?? body)
      .filter(([member]) => member !== 'phase')
      .flatMap(([member, inner]) => memberMissing(member, inner, file)),
  )
  return missing.map(what => ({ name: name?.name, what: `${label}: ${what}` }))
}

function addressOf({ hostname, port }) {
  return port === undefined ? hostname : `${hostname}:${port}`
}

/** A member that the file lacks, or values of it that stand nowhere in the file. */
function memberMissing(member, body, within) {
  const wanted = MEMBERS[member] ?? member
  if (!hasKey(within, wanted) && !hasKey(within, member)) return [member]
  return leavesMissing(body, within).map(leaf => `${member}: ${leaf}`)
}

function hasKey(value, key) {
  if (typeof value !== 'object' || value === null) return false
  return Object.hasOwn(value, key) || Object.values(value).some(each => hasKey(each, key))
}

function leavesMissing(body, within) {
  const have = new Set(leavesOf(within).flatMap(formsOf))
  const text = JSON.stringify(within)
  return leavesOf(body).filter(leaf => !formsOf(leaf).some(form => have.has(form)) && !text.includes(leaf))
}

/** Values that the file says by leaving them out, or in words of its own. */
const IMPLIED = new Set([
  'true',
  'false',
  '0',
  '100',
  'header',
  'Bearer ',
  'authorization',
  'Authorization',
  'STRICT',
  'REQUEST',
  'FULL_DUPLEX_STREAMED',
  '0s',
])

function leavesOf(value) {
  if (value === null || value === undefined) return []
  if (typeof value !== 'object') return IMPLIED.has(String(value)) ? [] : [String(value)]
  return Object.entries(value).flatMap(([key, inner]) => (key === 'kind' ? [] : leavesOf(inner)))
}

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** One value in every way in which it may be written. */
function formsOf(text) {
  const plain = text.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)]
  const ms =
    parts.length > 0 && parts.map(([all]) => all).join('') === text
      ? parts.reduce((sum, [, n, unit]) => sum + Number(n) * UNITS[unit], 0)
      : undefined
  const decoded = /^[A-Za-z0-9+/]{8,}={0,2}$/.test(text) ? [Buffer.from(text, 'base64').toString()] : []
  const said = { HTTP2: 'HTTP/2.0', HTTP1: 'HTTP/1.1', TOKEN: 'tokens', ALLOW: 'failOpen' }[text]
  const [, tokenType] = /^urn:ietf:params:oauth:token-type:(.+)$/.exec(text) ?? []
  const hash = `sha256:${createHash('sha256').update(text).digest('hex')}`
  return [
    text,
    plain,
    hash,
    ...(said ? [said] : []),
    ...(tokenType ? formsOf(tokenType) : []),
    ...(ms === undefined ? [] : [`${ms} ms`]),
    ...decoded,
  ]
}

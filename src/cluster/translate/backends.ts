import { mcpAuthentication } from '../../policies/external/mcp-authentication.ts'
import type { Policies } from '../../policies/parts/cluster-form.ts'
import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import { ACCUMULATING } from '../kinds/parts/members.ts'
import type { LabelSelector } from '../kinds/resource.ts'
import { labelsOf, selects } from '../resources/graph.ts'
import type { Resource } from '../resources/resource.ts'
import { addressesOf, protocolPolicies, type ServicePort, serviceHost } from './backend-refs.ts'
import { annotationsOf, idOf, nameOf, OWN_GROUP, specOf } from './cluster-view.ts'
import { backendMembers } from './members/backend-members.ts'
import { aimedAt, firstAddress } from './members/called-services.ts'
import { MemberContext } from './members/member-context.ts'
import { providerEntry, serverOf } from './members/providers.ts'
import { tlsPolicies, tlsPolicyFor } from './members/tls-policies.ts'
import type { From } from './origin/origins.ts'
import { markRead } from './origin/tracked.ts'
import type { Entry, Output } from './output.ts'
import type { PolicyState } from './policy-targets.ts'
import { at, type Work } from './work.ts'

interface Attached {
  readonly state: PolicyState
  readonly section: string | undefined
  readonly policies: Policies
}

/** `mcpAuthentication` and its origin. */
export interface Authentication {
  readonly value: Policies
  readonly origin: From | undefined
}

export const AUTHENTICATION = mcpAuthentication.name

/** A `backend` section, and one of the objects that it applies to. */
interface Aim {
  readonly state: PolicyState
  readonly section: Fields
  readonly object: Resource
  readonly part: string | undefined
}

function idOfAim({ object, part }: Aim): string {
  return part === undefined ? idOf(object) : `${idOf(object)}#${part}`
}

function aimsOf(state: PolicyState, work: Work): Aim[] {
  const section = asFields(work.spec(state.policy).backend)
  if (!section) return []
  return state.targets.flatMap(({ object, problem, section: part }) =>
    problem === undefined && object && ['ProxyBackend', 'Service', 'InferencePool'].includes(object.kind.kind)
      ? [{ state, section, object, part }]
      : [],
  )
}

/** Writes ProxyBackends, and tracks the policies that target backends and Services. */
export class BackendWriter {
  readonly #work: Work
  readonly #attached = new Map<string, Attached[]>()
  readonly #inline = new Map<Resource, { readonly fields: Entry; readonly policies: Policies }>()
  readonly #services = new Map<string, Policies | undefined>()
  readonly #authentications = new Map<Resource, Authentication>()
  /** Problems of each backend. */
  readonly errors = new Map<Resource, string[]>()

  constructor(states: readonly PolicyState[], work: Work) {
    this.#work = work
    const aims = states.flatMap(state => aimsOf(state, work))
    // Complete before any policy is converted, since policies call Services that others target.
    for (const aim of aims) work.aimedAt.add(idOfAim(aim))
    for (const aim of aims) this.#attach(aim)
  }

  #attach(aim: Aim): void {
    const { state, section, object, part } = aim
    const policies = backendMembers(section, new MemberContext(this.#work, state.policy, state.errors))
    if (policies.backendTLS !== undefined) this.#work.tlsOfBackends.set(idOfAim(aim), policies.backendTLS)
    const list = this.#attached.get(idOf(object)) ?? []
    list.push({ state, section: part, policies })
    this.#attached.set(idOf(object), list)
  }

  /** The policies that target an object, oldest first, overridden by those that target the section. */
  #policiesFor(id: string, section: string | undefined, own: Policies): Policies {
    const all = this.#attached.get(id) ?? []
    const out: Policies = {}
    const narrow = section === undefined ? [] : all.filter(each => each.section === section)
    const wide = all.filter(each => each.section === undefined)
    for (const level of [own, ...narrow.map(each => each.policies), ...wide.map(each => each.policies)]) {
      for (const [name, value] of Object.entries(level)) this.#put(out, name, value, level)
    }
    return out
  }

  /** The authentication that all clients of the backend need, which its routes enforce. Undefined for none. */
  authenticationOf(backend: Resource): Authentication | undefined {
    return this.#authentications.get(backend)
  }

  #takeAuthentication(policies: Policies): Authentication | undefined {
    const { [AUTHENTICATION]: value } = policies
    if (value === undefined) return undefined
    const origin = this.#work.origins.own(policies, AUTHENTICATION, value)
    delete policies[AUTHENTICATION]
    return { value: value as Policies, origin }
  }

  /** Only a whole MCP backend can enforce it. */
  #withoutAuthentication(policies: Policies): Policies {
    const found = this.#takeAuthentication(policies)
    if (!found) return policies
    const { origins, options } = this.#work
    if (found.origin) this.#work.lose(found.origin, `\`${AUTHENTICATION}\` goes only with a whole MCP backend`)
    if (!options.allowUnguarded) {
      policies.authorization = { rules: [{ deny: 'true' }] }
      if (found.origin) origins.field(policies, 'authorization', found.origin)
    }
    return policies
  }

  #put(out: Policies, name: string, value: unknown, from: Policies): void {
    const { origins } = this.#work
    const origin = origins.own(from, name, value)
    if (out[name] === undefined) {
      out[name] = value
      if (origin) origins.field(out, name, origin)
    } else if (ACCUMULATING.has(name)) {
      const rules = [out[name], value].flatMap(each => (each as { rules: unknown[] }).rules)
      out[name] = { rules }
    }
  }

  /** Undefined if its TLS settings trust no authority. */
  servicePolicies(namespace: string, name: string, port: number): Policies | undefined {
    const key = `${namespace}/${name}:${port}`
    if (this.#services.has(key)) return this.#services.get(key)
    const policy = tlsPolicyFor(namespace, name, port, this.#work)
    const secure = policy ? tlsPolicies(policy, this.#work) : {}
    const made = secure && {
      ...secure,
      ...this.#withoutAuthentication(this.#policiesFor(`Service/${namespace}/${name}`, String(port), {})),
    }
    this.#services.set(key, made)
    return made
  }

  /** The policies for a Service that is a provider or an MCP target, where `own` takes precedence. */
  #policiesAt(to: ServicePort | undefined, own: Policies, ctx: MemberContext): Policies {
    if (!to) return own
    const { problem } = aimedAt(to, this.#work)
    if (problem !== undefined) ctx.errors.push(problem)
    return this.overService(to, own)
  }

  /** The policies that target a Service, overridden by `own`. */
  overService(to: ServicePort, own: Policies): Policies {
    const out = { ...own }
    const aimed = this.servicePolicies(to.namespace, to.name, to.port) ?? {}
    for (const [name, value] of Object.entries(aimed)) this.#put(out, name, value, aimed)
    return out
  }

  /** The policies that target an InferencePool. */
  poolPolicies(pool: Resource): Policies {
    return this.#withoutAuthentication(this.#policiesFor(idOf(pool), undefined, {}))
  }

  /** A backend that the file can hold only inside a route. */
  inline(backend: Resource) {
    return this.#inline.get(backend)
  }

  write(output: Output): void {
    for (const backend of this.#work.cluster.list('ProxyBackend')) {
      const errors: string[] = []
      this.errors.set(backend, errors)
      const ctx = new MemberContext(this.#work, backend, errors)
      const spec = this.#work.spec(backend)
      const own = asFields(spec.policies)
      const policies = this.#policiesFor(idOf(backend), undefined, own ? backendMembers(own, ctx) : {})
      const authentication = spec.mcp ? this.#takeAuthentication(policies) : undefined
      if (authentication) this.#authentications.set(backend, authentication)
      this.#withoutAuthentication(policies)
      const fields = this.#fields(spec, backend, ctx)
      if (spec.a2a) policies.a2a = {}
      // A key set that has not been fetched is fetched on first use.
      if (errors.some(error => !this.#work.awaited.has(error))) {
        this.#inline.set(backend, { fields: { invalid: null }, policies: {} })
        this.#work.lose(at(backend, 'spec'), `${backend.kindName} ${nameOf(backend)} is left out: ${errors.join('; ')}`)
        continue
      }
      if (fields.dynamic !== undefined) {
        this.#inline.set(backend, { fields, policies })
        continue
      }
      const entry: Entry = { name: backend.name, namespace: backend.namespace, ...fields }
      if (Object.keys(policies).length > 0) entry.policies = policies
      const fixed = asFields(spec.static) ?? asFields(spec.a2a)
      if (fixed) this.#work.origins.field(entry, 'host', this.#work.from(fixed, backend))
      output.backends.push(this.#work.origins.mark(entry, at(backend, 'spec')))
    }
  }

  /** Writes the Services that policies call under policies of their own. */
  writeCalled(output: Output): void {
    for (const to of this.#work.called.values()) {
      const policies = { ...protocolPolicies(to), ...this.servicePolicies(to.namespace, to.name, to.port) }
      const entry = {
        name: `${to.name}:${to.port}`,
        namespace: to.namespace,
        host: addressesOf(to, this.#work)[0],
        policies,
      }
      output.backends.push(to.service ? this.#work.origins.mark<Entry>(entry, at(to.service, 'spec')) : entry)
    }
  }

  #fields(spec: Fields, backend: Resource, ctx: MemberContext): Entry {
    const fixed = asFields(spec.static) ?? asFields(spec.a2a)
    if (fixed) return { host: addressOf(fixed) }
    if (spec.dynamicForwardProxy !== undefined) {
      return { dynamic: this.#work.origins.mark({}, at(backend, 'spec', 'dynamicForwardProxy')) }
    }
    const core = asFields(asFields(spec.aws)?.agentCore)
    if (core) return { aws: { agentCore: { ...core } } }
    const mcp = asFields(spec.mcp)
    if (mcp) return { mcp: this.#mcp(mcp, backend, ctx) }
    return { ai: this.#ai(asFields(spec.ai) ?? {}, backend, ctx) }
  }

  #ai(spec: Fields, backend: Resource, ctx: MemberContext): Entry {
    const single = asFields(spec.provider)
    if (single) {
      const own = this.#withoutAuthentication(
        this.#policiesFor(`${idOf(backend)}#`, 'backend', this.#sectionPolicies(backend, 'backend')),
      )
      const to = serverOf(asFields(single.custom), ctx)
      const entry = providerEntry(single, to, this.#policiesAt(to, own, ctx), ctx)
      return this.#work.keep({ name: 'backend', ...entry }, single)
    }
    const groups = asItems(spec.groups).map(group => ({
      providers: asItems(group.providers).map(each => {
        const own = asFields(each.policies)
        const section = this.#overSection(backend, String(each.name), own ? backendMembers(own, ctx) : {})
        const to = serverOf(asFields(each.custom), ctx)
        const entry = providerEntry(each, to, this.#policiesAt(to, section, ctx), ctx)
        return this.#work.keep({ name: each.name, ...entry }, each)
      }),
    }))
    return { groups }
  }

  #sectionPolicies(backend: Resource, section: string): Policies {
    return this.#overSection(backend, section, {})
  }

  /** Policies of one provider or target; those of the backend stay on the backend. */
  #overSection(backend: Resource, section: string, own: Policies): Policies {
    const out: Policies = {}
    const narrow = (this.#attached.get(idOf(backend)) ?? []).filter(each => each.section === section)
    for (const level of [own, ...narrow.map(each => each.policies)]) {
      for (const [name, value] of Object.entries(level)) this.#put(out, name, value, level)
    }
    return this.#withoutAuthentication(out)
  }

  #mcp(spec: Fields, backend: Resource, ctx: MemberContext): Entry {
    const out: Entry = { targets: asItems(spec.targets).flatMap(target => this.#mcpTargets(target, backend, ctx)) }
    out.statefulMode = String(spec.sessionRouting ?? 'Stateful').toLowerCase()
    out.prefixMode = String(spec.prefixMode ?? 'Conditional').toLowerCase()
    out.failureMode = spec.failureMode === 'FailOpen' ? 'failOpen' : 'failClosed'
    return out
  }

  #mcpTargets(target: Fields, backend: Resource, ctx: MemberContext): Entry[] {
    const fixed = asFields(target.static)
    if (!fixed) {
      const policiesOf = (name: string, to: ServicePort) =>
        this.#policiesAt(to, this.#overSection(backend, name, {}), ctx)
      return selectedTargets(asFields(target.selector) ?? {}, target, backend, ctx, policiesOf)
    }
    const ref = asFields(fixed.backendRef)
    const to = ref && this.#targetService(ref, Number(fixed.port), backend, ctx)
    const kind = fixed.protocol === 'SSE' ? 'sse' : 'mcp'
    const endpoint: Entry = to ? endpointOf(to, ref, ctx) : { host: asText(fixed.host), port: fixed.port }
    if (asText(fixed.path) !== undefined) endpoint.path = rooted(String(fixed.path))
    const own = asFields(fixed.policies)
    const section = this.#overSection(backend, String(target.name), own ? backendMembers(own, ctx) : {})
    const policies = this.#policiesAt(to, section, ctx)
    const out: Entry = { name: target.name, [kind]: endpoint }
    if (Object.keys(policies).length > 0) out.policies = policies
    return [this.#work.keep(out, target)]
  }

  #targetService(ref: Fields, port: number, { namespace = '' }: Resource, ctx: MemberContext): ServicePort {
    const name = String(ref.name)
    const service = this.#work.cluster.find('Service', namespace, name)
    if (!service && !this.#work.options.partial) ctx.errors.push(`unable to find the Service ${namespace}/${name}`)
    return { kind: 'Service', service, namespace, name, port }
  }
}

function rooted(path: string): string {
  return path.startsWith('/') ? path : `/${path}`
}

/** The address of a Service, as an MCP target writes it. */
function endpointOf(to: ServicePort, part: unknown, ctx: MemberContext): Entry {
  const [, host, port] = /^(.*):(\d+)$/.exec(firstAddress(to, part, ctx)) ?? []
  return { host: host ?? serviceHost(to.namespace, to.name), port: Number(port ?? to.port) }
}

function addressOf(part: Fields): string {
  const socket = asText(part.unixPath) ?? (asText(part.host)?.startsWith('/') ? String(part.host) : undefined)
  markRead(part, 'port')
  if (socket !== undefined) return `unix:${socket}`
  const host = String(part.host)
  return `${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${String(part.port)}`
}

const MCP_PROTOCOLS: Readonly<Record<string, string>> = { mcp: 'mcp', 'mcp-sse': 'sse' }

/** Services whose `appProtocol` marks them as MCP servers. */
function selectedTargets(
  selector: Fields,
  target: Fields,
  backend: Resource,
  ctx: MemberContext,
  policiesOf: (name: string, to: ServicePort) => Policies,
): Entry[] {
  const { work } = ctx
  const plain = (part: unknown) => (work.tracker.plain(part) ?? {}) as LabelSelector
  const spaces = asFields(selector.namespaces)
  const wanted = plain(selector.services)
  const inNamespace = (name: string | undefined): boolean => {
    if (!spaces) return name === backend.namespace
    const namespace = work.cluster.find('Namespace', undefined, name ?? '')
    return selects(plain(spaces), { ...(namespace ? labelsOf(namespace) : {}), 'kubernetes.io/metadata.name': name })
  }
  const found = work.cluster
    .list('Service')
    .filter(each => inNamespace(each.namespace) && selects(wanted, labelsOf(each)))
  markRead(target, 'name')
  const targets = found.flatMap(service =>
    asItems(specOf(service).ports).flatMap(port => {
      const kind = MCP_PROTOCOLS[/^[^/]+\/(mcp(?:-sse)?)$/.exec(String(port.appProtocol ?? ''))?.[1] ?? '']
      if (kind === undefined) return []
      const notes = annotationsOf(service)
      const name =
        asText(notes[`${OWN_GROUP}/mcp-target-name`]) ?? `${service.name}-${asText(port.name) ?? String(port.port)}`
      const path = asText(notes[`${OWN_GROUP}/mcp-path`])
      const to = {
        kind: 'Service',
        service,
        namespace: service.namespace ?? '',
        name: service.name ?? '',
        port: Number(port.port),
      } as const
      const policies = policiesOf(name, to)
      const endpoint: Entry = {
        ...endpointOf(to, selector, ctx),
        ...(path === undefined ? {} : { path: rooted(path) }),
      }
      const made: Entry = { name, [kind]: endpoint }
      if (Object.keys(policies).length > 0) made.policies = policies
      return [work.origins.mark(made, at(service, 'spec', 'ports'))]
    }),
  )
  if (targets.length === 0) ctx.lose(selector, 'no Service of the input is an MCP server that the selector chooses')
  return targets
}

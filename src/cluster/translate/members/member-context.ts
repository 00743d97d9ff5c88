import {
  type ClusterContext,
  type ClusterObject,
  defined,
  type Policies,
} from '../../../policies/parts/cluster-form.ts'
import { asFields, asText, type Fields } from '../../../schema/untyped.ts'
import { labelsOf, selects } from '../../resources/graph.ts'
import type { Resource } from '../../resources/resource.ts'
import { resolveRef } from '../backend-refs.ts'
import { idOf, nameOf } from '../cluster-view.ts'
import { dataKeysOf, dataOf, SecretReader } from '../secrets.ts'
import type { Work } from '../work.ts'
import { backendMembers } from './backend-members.ts'
import { aimedAt, backendFor, firstAddress, tlsOf } from './called-services.ts'

/** The context for converting the members of one policy, backend or model. */
export class MemberContext implements ClusterContext {
  readonly work: Work
  readonly holder: Resource
  readonly errors: string[]
  readonly secrets: SecretReader

  constructor(work: Work, holder: Resource, errors: string[] = []) {
    this.work = work
    this.holder = holder
    this.errors = errors
    this.secrets = new SecretReader(work, holder, errors)
  }

  get withSecrets(): boolean {
    return this.work.options.withSecrets
  }

  lose(part: unknown, message: string): void {
    this.work.lose(this.work.from(part, this.holder), message)
  }

  /**
   * `{host}` or `{backend}` of a service that a policy calls. Undefined, with an error on the resource, if it does not
   * exist. `what`: the beginning of the error.
   */
  target(spec: Fields, what: string): Fields | undefined {
    const url = asText(spec.url)
    if (url !== undefined) return { host: url.replace(/^(https?:\/\/[^/]+)\/.*$/, '$1') }
    const ref = asFields(spec.backendRef)
    if (!ref) return undefined
    const to = resolveRef(ref, this.holder, this.work)
    switch (to.kind) {
      case 'Service': {
        const host = firstAddress(to, ref, this)
        const { any, problem } = aimedAt(to, this.work)
        if (problem === undefined) return this.keep(any ? { backend: backendFor(to, this.work) } : { host }, ref)
        this.errors.push(`${what}: ${problem}`)
        return undefined
      }
      case 'ProxyBackend':
        return this.keep({ backend: nameOf(to.backend) }, ref)
      case 'InferencePool':
        this.errors.push(`${what}: InferencePool ${nameOf(to.pool)} cannot be called by a policy`)
        return undefined
      case 'problem':
        this.errors.push(`${what}: ${to.condition.message}`)
        return undefined
      default:
        this.errors.push(`${what}: a backendRef of kind ${String(ref.kind)} cannot be called`)
        return undefined
    }
  }

  /** The path of `url`, if any. */
  urlPath(spec: Fields): string | undefined {
    return /^https?:\/\/[^/]+(\/.+)$/.exec(asText(spec.url) ?? '')?.[1]
  }

  /** The path of a data entry of a Secret or ConfigMap; reported as a loss if files cannot be referenced. */
  file(part: unknown, resource: ClusterObject, key: string): string | undefined {
    const before = this.errors.length
    const path = this.secrets.file(resource, key)
    if (path === undefined && this.errors.length === before) {
      this.lose(part, `${resource.kind.kind} ${nameOf(resource)}, key ${key}, has to be a file: pass --files-dir DIR`)
    }
    return path
  }

  keySet(part: Fields): unknown {
    const inline = asText(part.inline)
    if (inline !== undefined) return inline
    const remote = asFields(part.remote) ?? part
    const own = asText(remote.url)
    const { url, backendTLS } = own === undefined ? keySetAt(remote, this) : { url: own }
    if (url === undefined) return undefined
    if (!this.work.options.live) {
      const error = `jwks keyset for ${JSON.stringify(url)} isn't available (not yet fetched or fetch failed)`
      this.errors.push(error)
      this.work.awaited.add(error)
    }
    // An API server writes the default out, which is that of the file.
    const cacheDuration = remote.cacheDuration === '5m' ? undefined : remote.cacheDuration
    return defined({ url, backendTLS, cacheDuration })
  }

  labelled(kind: string, matchLabels: Readonly<Record<string, string>>): readonly Resource[] {
    const { namespace } = this.holder
    return this.work.cluster
      .list(kind)
      .filter(each => each.namespace === namespace && selects({ matchLabels }, labelsOf(each)))
  }

  entriesOf(object: ClusterObject): readonly { readonly key: string; readonly text: string }[] {
    return dataKeysOf(object).map(key => ({ key, text: dataOf(object, key)?.toString('utf8') ?? '' }))
  }

  connection(spec: Fields): Policies {
    return backendMembers(spec, this)
  }

  keep<T extends object>(out: T, part: unknown): T {
    return this.work.keep(out, part)
  }

  plain(part: unknown): unknown {
    return this.work.tracker.plain(part)
  }

  kept(part: unknown): unknown {
    return this.work.plain(part)
  }
}

interface KeySetPlace {
  readonly url?: string
  readonly backendTLS?: unknown
}

function keySetAt(remote: Fields, ctx: MemberContext): KeySetPlace {
  const ref = asFields(remote.backendRef)
  if (!ref) return {}
  const { work } = ctx
  const namespace = asText(ref.namespace) ?? ctx.holder.namespace ?? ''
  const name = `${namespace}/${String(ref.name)}`
  const to = resolveRef(ref, ctx.holder, work)
  const path = `/${String(remote.jwksPath ?? '').replace(/^\//, '')}`
  if (to.kind === 'Service') {
    const host = firstAddress(to, ref, ctx)
    const tls = tlsOf(to, work)
    return aimedAt(to, work).problem === undefined ? placeAt(`${host}${path}`, tls) : {}
  }
  if (to.kind !== 'ProxyBackend') {
    ctx.errors.push(`backend ${name} not found, policy ${ctx.holder.namespace}/${ctx.holder.name}`)
    return {}
  }
  const { backend } = to
  const spec = asFields(backend.raw.spec)
  const address = asFields(spec?.static)
  if (!address) {
    ctx.errors.push(`backend ${name} cannot serve a key set: it is not static`)
    return {}
  }
  const { tls } = asFields(spec?.policies) ?? {}
  const own = tls === undefined ? {} : backendMembers({ tls }, new MemberContext(work, backend, ctx.errors))
  return placeAt(
    `${String(address.host)}:${String(address.port)}${path}`,
    own.backendTLS ?? work.tlsOfBackends.get(idOf(backend)),
  )
}

/** `backendTLS`: undefined for none; without settings of its own, the defaults of `https` apply. */
function placeAt(place: string, backendTLS: unknown): KeySetPlace {
  if (backendTLS === undefined) return { url: `http://${place}` }
  const said = Object.keys(asFields(backendTLS) ?? {}).length > 0
  return { url: `https://${place}`, ...(said ? { backendTLS } : {}) }
}

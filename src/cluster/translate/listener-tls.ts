import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import type { Resource } from '../resources/resource.ts'
import { annotationsOf, OWN_GROUP, specOf } from './cluster-view.ts'
import { dataOf, holdsCertificates } from './secrets.ts'
import { type Condition, isFalse, notAccessible } from './status/conditions.ts'
import type { Work } from './work.ts'

export interface ListenerTls {
  /** Conditions that deviate from the normal state. */
  readonly problems: readonly Condition[]
  readonly certificate?: Resource
  readonly clientCa?: Resource
  /** The client certificate is optional. */
  readonly clientCaOptional?: boolean
  readonly mode?: 'dynamicCa'
  /** Set if the gateway cannot serve the listener for a reason of its own. */
  readonly unserved?: string
}

const SOURCE = `${OWN_GROUP}/tls-certificate-source`
const TERMINATE = 'gateway.istio.io/tls-terminate-mode'

/** The effective TLS settings of a listener. */
export function listenerTls(owner: Resource, gateway: Resource, listener: Fields, work: Work): ListenerTls {
  const tls = asFields(listener.tls)
  const protocol = String(listener.protocol)
  if (!tls || (protocol === 'TLS' && tls.mode === 'Passthrough')) return { problems: [] }
  const refs = asItems(tls.certificateRefs)
  const options = asFields(tls.options) ?? {}
  const frontend = frontendCa(gateway, Number(listener.port), work)
  const special = specialSource(options, refs, frontend !== undefined)
  if (special) return special
  const found = certificate(owner, refs, work)
  return {
    problems: [...found.problems, ...(frontend?.problems ?? [])],
    ...(found.secret ? { certificate: found.secret } : {}),
    ...(frontend?.ca ? { clientCa: frontend.ca, clientCaOptional: frontend.optional } : {}),
  }
}

/** Certificates that do not come from a Secret. */
function specialSource(options: Fields, refs: readonly Fields[], clientCa: boolean): ListenerTls | undefined {
  const source = options[SOURCE]
  const terminate = options[TERMINATE]
  const bad = (message: string): ListenerTls => ({
    problems: [isFalse('ResolvedRefs', 'InvalidCertificateRef', message)],
  })
  if (source === 'SPIFFE') {
    if (terminate !== undefined) {
      return bad(`TLS certificate source SPIFFE cannot be combined with the ${String(terminate)} termination mode`)
    }
    if (refs.length > 0) return bad('TLS certificate source SPIFFE cannot be combined with certificateRefs')
    if (clientCa) return bad('TLS certificate source SPIFFE cannot be combined with frontend CA certificates')
    return { problems: [], unserved: 'certificates from a SPIFFE workload API are not served' }
  }
  if (source === 'DYNAMIC_CA' && clientCa) {
    const message = 'TLS certificate source DYNAMIC_CA cannot be combined with frontend CA certificates'
    return { problems: [isFalse('Accepted', 'NoValidCACertificate', message)] }
  }
  if (terminate === undefined) return undefined
  return { problems: [], unserved: `the termination mode ${String(terminate)} needs a mesh` }
}

export interface Certificate {
  readonly problems: readonly Condition[]
  readonly secret?: Resource
}

function certificate(owner: Resource, refs: readonly Fields[], work: Work): Certificate {
  const refuse = (reason: string, message: string): Certificate => ({
    problems: [isFalse('ResolvedRefs', reason, message)],
  })
  const ref = refs[0]
  if (refs.length !== 1 || !ref) {
    return refuse('InvalidCertificateRef', `exactly 1 certificateRef must be present, got ${refs.length}`)
  }
  const found = secretAt(owner, ref, work)
  if ('reason' in found) return refuse(found.reason, found.message)
  const { secret } = found
  const crt = dataOf(secret, 'tls.crt')?.toString() ?? ''
  const key = dataOf(secret, 'tls.key')?.toString() ?? ''
  if (!/-----BEGIN [A-Z ]*CERTIFICATE-----/.test(crt) || !/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(key)) {
    return refuse('InvalidCertificateRef', `invalid certificate reference ${refText(ref, owner)}, malformed Secret`)
  }
  return { problems: [] as Condition[], secret }
}

interface Refusal {
  readonly reason: string
  readonly message: string
}

function secretAt(owner: Resource, ref: Fields, work: Work): { readonly secret: Resource } | Refusal {
  const namespace = asText(ref.namespace) ?? owner.namespace ?? ''
  const name = String(ref.name)
  if ((asText(ref.kind) ?? 'Secret') !== 'Secret' || (asText(ref.group) ?? '') !== '') {
    const message = `invalid certificate reference ${refText(ref, owner)}, only secret is allowed`
    return { reason: 'InvalidCertificateRef', message }
  }
  const to = { group: '', kind: 'Secret', namespace, name }
  if (namespace !== owner.namespace && !work.cluster.permits(owner, to)) {
    return { reason: 'RefNotPermitted', message: notAccessible('certificateRef', `${namespace}/${name}`, owner) }
  }
  const secret = work.cluster.find('Secret', namespace, name)
  if (secret) return { secret }
  const message = `invalid certificate reference ${refText(ref, owner)}, secret not found`
  return { reason: 'InvalidCertificateRef', message }
}

function refText(ref: Fields, owner: Resource): string {
  const kind = asText(ref.kind) ?? 'Secret'
  return `${asText(ref.group) ?? ''}/${kind}/${String(ref.name)}.${asText(ref.namespace) ?? owner.namespace ?? ''}`
}

/** The client CAs of a port. */
function frontendCa(gateway: Resource, port: number, work: Work) {
  const frontend = asFields(asFields(specOf(gateway).tls)?.frontend)
  const own = asItems(frontend?.perPort).find(each => each.port === port)
  const validation = asFields(asFields(own ? own.tls : frontend?.default)?.validation)
  if (!validation) return undefined
  const problems: Condition[] = []
  let ca: Resource | undefined
  for (const ref of asItems(validation.caCertificateRefs)) {
    const kind = asText(ref.kind) ?? 'ConfigMap'
    const namespace = asText(ref.namespace) ?? gateway.namespace ?? ''
    const name = String(ref.name)
    const found = work.cluster.find(kind, namespace, name)
    const where = `/${kind}/${name}.${namespace}`
    if (kind !== 'ConfigMap' && kind !== 'Secret') {
      problems.push(isFalse('ResolvedRefs', 'InvalidCACertificateKind', `invalid CA certificate reference ${where}`))
    } else if (
      namespace !== gateway.namespace &&
      !work.cluster.permits(gateway, { group: '', kind, namespace, name })
    ) {
      const message = notAccessible('caCertificateRef', `${namespace}/${name}`, gateway)
      problems.push(isFalse('ResolvedRefs', 'RefNotPermitted', message))
    } else if (!found || !holdsCertificates(dataOf(found, 'ca.crt'))) {
      const message = `invalid CA certificate reference ${where}, ${found ? 'no ca.crt in it that can be read' : 'not found'}`
      problems.push(isFalse('ResolvedRefs', 'InvalidCACertificateRef', message))
    } else ca ??= found
  }
  if (!ca) problems.push(isFalse('Accepted', 'NoValidCACertificate', 'no valid CA certificate for frontend validation'))
  return { problems, optional: validation.mode === 'AllowInsecureFallback', ...(ca ? { ca } : {}) }
}

/** The client certificate of a Gateway for its backends; the condition if it is unavailable. */
export function clientCertificate(gateway: Resource, work: Work): Certificate | undefined {
  const ref = asFields(asFields(asFields(specOf(gateway).tls)?.backend)?.clientCertificateRef)
  if (!ref) return undefined
  const found = certificate(gateway, [ref], work)
  const [problem] = found.problems
  if (!problem) return found
  const reason = problem.reason === 'InvalidCertificateRef' ? 'InvalidClientCertificateRef' : problem.reason
  return { problems: [{ ...problem, reason }] }
}

/** The ports in `internal-ports`; a message if one is invalid. */
export function internalPorts(owner: Resource): { readonly ports: ReadonlySet<number>; readonly problem?: string } {
  const text = asText(annotationsOf(owner)[`${OWN_GROUP}/internal-ports`])
  if (text === undefined) return { ports: new Set() }
  const used = new Set(asItems(specOf(owner).listeners).map(({ port }) => port))
  const entries = text.split(',').map(entry => entry.trim())
  const bad = entries.find(entry => !/^\d+$/.test(entry) || !used.has(Number(entry)))
  if (bad === undefined) return { ports: new Set(entries.map(Number)) }
  return { ports: new Set(), problem: `internal-ports: "${bad}" is not a port of a listener of this ${owner.kindName}` }
}

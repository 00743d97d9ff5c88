import { defined, type Policies } from '../../../policies/parts/cluster-form.ts'
import { asFields, asItems, asText } from '../../../schema/untyped.ts'
import type { Resource } from '../../resources/resource.ts'
import { nameOf, specOf } from '../cluster-view.ts'
import { dataOf, fileOf, holdsCertificates } from '../secrets.ts'
import { at, type Work } from '../work.ts'

/** The CAs for a Service's certificates; without `bytes`, the system's. */
type Authorities = { readonly bytes?: Buffer } | { readonly reason: string; readonly message: string }

/** The BackendTLSPolicy in effect for a port of a Service. */
export function tlsPolicyFor(namespace: string, name: string, port: number, work: Work): Resource | undefined {
  return work.cluster.tlsPolicies(namespace, name).find(({ section }) => fits(section, namespace, name, port, work))
    ?.policy
}

/** The TLS settings of a BackendTLSPolicy. Undefined if it trusts no authority. */
export function tlsPolicies(policy: Resource, work: Work): Policies | undefined {
  const from = at(policy, 'spec', 'validation')
  const authorities = authoritiesOf(policy, work)
  if ('reason' in authorities) {
    work.lose(
      from,
      `${authorities.message}: no backend can be trusted, and its share of the requests is answered with 500`,
    )
    return undefined
  }
  const validation = asFields(specOf(policy).validation) ?? {}
  const names = asItems(validation.subjectAltNames).map(each => String(each.hostname ?? each.uri))
  const backendTLS = defined({
    hostname: validation.hostname,
    root: authorities.bytes && rootOf(policy, authorities.bytes, work),
    subjectAltNames: names.length > 0 ? names : undefined,
  })
  const out: Policies = { backendTLS: work.origins.mark(backendTLS, from) }
  work.origins.field(out, 'backendTLS', from)
  return out
}

function rootOf(policy: Resource, bytes: Buffer, work: Work): string | undefined {
  const path = fileOf(work, policy, 'ca.crt', bytes)
  if (path === undefined) {
    work.lose(
      at(policy, 'spec', 'validation', 'caCertificateRefs'),
      `the certificates that ${policy.kindName} ${nameOf(policy)} trusts have to be a file: pass --files-dir DIR; until then those of the system are trusted`,
    )
  }
  return path
}

/** All bundles combined; one that is unavailable invalidates all. */
export function authoritiesOf(policy: Resource, work: Work): Authorities {
  const validation = asFields(specOf(policy).validation) ?? {}
  const bundles: Buffer[] = []
  for (const ref of asItems(validation.caCertificateRefs)) {
    const kind = asText(ref.kind) ?? ''
    if (kind !== 'ConfigMap' || (asText(ref.group) ?? '') !== '') {
      return { reason: 'InvalidKind', message: `certificate references of kind ${kind} are not supported` }
    }
    const found = work.cluster.find('ConfigMap', policy.namespace, String(ref.name))
    const bytes = found && dataOf(found, 'ca.crt')
    const named = `ConfigMap ${policy.namespace}/${String(ref.name)}`
    if (!bytes) return { reason: 'InvalidCACertificateRef', message: `${named} with ca.crt not found` }
    if (!holdsCertificates(bytes))
      return { reason: 'InvalidCACertificateRef', message: `ca.crt of ${named} holds no certificate that can be read` }
    bundles.push(bytes)
  }
  return bundles.length === 0 ? {} : { bytes: Buffer.concat(bundles.flatMap(each => [each, Buffer.from('\n')])) }
}

function fits(section: string | undefined, namespace: string, name: string, port: number, work: Work): boolean {
  if (section === undefined) return true
  const service = work.cluster.find('Service', namespace, name)
  return asItems(service ? specOf(service).ports : []).some(each => each.name === section && each.port === port)
}

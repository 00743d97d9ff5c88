import { defined, type Policies } from '../../../policies/parts/cluster-form.ts'
import { asFields, asItems, type Fields } from '../../../schema/untyped.ts'
import type { Resource } from '../../resources/resource.ts'
import { nameOf, specOf } from '../cluster-view.ts'
import { dataOf, fileOf } from '../secrets.ts'
import { at, type Work } from '../work.ts'

/** TLS that a BackendTLSPolicy asks for on the way to a Service. */
export function tlsPolicies(namespace: string, name: string, port: number, work: Work): Policies {
  const aimed = work.cluster.tlsPolicies(namespace, name)
  const policy = aimed.find(({ section }) => fits(section, namespace, name, port, work))?.policy
  if (!policy) return {}
  const from = at(policy, 'spec', 'validation')
  const validation = asFields(specOf(policy).validation) ?? {}
  const names = asItems(validation.subjectAltNames).map(each => String(each.hostname ?? each.uri))
  const backendTLS = defined({
    hostname: validation.hostname,
    root: rootOf(policy, validation, work),
    subjectAltNames: names.length > 0 ? names : undefined,
  })
  const out: Policies = { backendTLS: work.origins.mark(backendTLS, from) }
  work.origins.field(out, 'backendTLS', from)
  return out
}

function rootOf(policy: Resource, validation: Fields, work: Work): string | undefined {
  const refs = asItems(validation.caCertificateRefs)
  const ref = refs[0]
  if (!ref) return undefined
  const found = work.cluster.find('ConfigMap', policy.namespace, String(ref.name))
  const bytes = found && dataOf(found, 'ca.crt')
  const from = at(policy, 'spec', 'validation', 'caCertificateRefs')
  if (!found || !bytes) {
    work.lose(
      from,
      `ConfigMap ${policy.namespace}/${String(ref.name)} with ca.crt is missing: no certificate is trusted`,
    )
    return '/dev/null'
  }
  if (refs.length > 1) work.lose(from, 'only the first of several CA bundles is kept')
  const path = fileOf(work, found, 'ca.crt', bytes)
  if (path === undefined) {
    work.lose(
      from,
      `${nameOf(found)}, key ca.crt, has to be a file: pass --files-dir DIR; until then the certificates of the system are trusted`,
    )
  }
  return path
}

function fits(section: string | undefined, namespace: string, name: string, port: number, work: Work): boolean {
  if (section === undefined) return true
  const service = work.cluster.find('Service', namespace, name)
  return asItems(service ? specOf(service).ports : []).some(each => each.name === section && each.port === port)
}

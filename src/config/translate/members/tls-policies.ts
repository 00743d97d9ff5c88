import { asFields, asItems, asText, type Fields, type Resource } from '../../resources/resource.ts'
import { dataOf, fileOf } from '../secrets.ts'
import { at, type Work } from '../work.ts'
import { nameOf, specOf } from '../world.ts'
import { defined, type Policies } from './member-context.ts'

/** TLS that a BackendTLSPolicy asks for on the way to a Service. */
export function tlsPolicies(namespace: string, name: string, port: number, work: Work): Policies {
  const policy = winners(work)
    .get(`${namespace}/${name}`)
    ?.find(({ section }) => fits(section, namespace, name, port, work))?.policy
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
  const found = work.world.find('ConfigMap', policy.namespace, String(ref.name))
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

interface Aimed {
  readonly policy: Resource
  readonly section: string | undefined
}

/** The policies of each Service, the oldest first. */
function winners(work: Work): Map<string, Aimed[]> {
  const out = new Map<string, Aimed[]>()
  for (const policy of work.world.list('BackendTLSPolicy')) {
    for (const ref of asItems(specOf(policy).targetRefs)) {
      const key = `${policy.namespace}/${String(ref.name)}`
      out.set(key, [...(out.get(key) ?? []), { policy, section: asText(ref.sectionName) }])
    }
  }
  for (const list of out.values())
    list.sort((a, b) => Number(a.section === undefined) - Number(b.section === undefined))
  return out
}

function fits(section: string | undefined, namespace: string, name: string, port: number, work: Work): boolean {
  if (section === undefined) return true
  const service = work.world.find('Service', namespace, name)
  return asItems(service ? specOf(service).ports : []).some(each => each.name === section && each.port === port)
}

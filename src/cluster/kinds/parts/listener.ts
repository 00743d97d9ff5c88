import { didYouMean } from '../../../diagnostics/suggest.ts'
import { def, list, map, object, oneOf, opt, req, string } from '../../../schema/builder.ts'
import { GATEWAY_GROUP } from '../../../schema/resource-references.ts'
import { dnsLabel, groupName, hostname, kindName, refName, subdomain } from '../../../schema/resource-scalars.ts'
import { missing, problem, type Rule } from '../../../schema/rules.ts'
import { port } from '../../../schema/scalars.ts'
import { labelSelector } from '../resource.ts'

/** A Secret or ConfigMap, possibly in another namespace. */
export function dataRef(name: string, kind: string, keys: readonly (readonly string[])[]) {
  return object(
    name,
    {
      group: def(groupName, '', 'The API group; empty for a Secret.'),
      kind: def(kindName, kind, 'The kind.'),
      name: req(refName, 'The name.'),
      namespace: opt(dnsLabel, 'The namespace, if another; it then needs a ReferenceGrant there.'),
    },
    { refers: { to: 'data', kind, keys } },
  )
}
export const certificateRef = dataRef('certificate reference', 'Secret', [['tls.crt'], ['tls.key']])
export const optionKeys = (key: string) =>
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$/.test(
    key,
  )
    ? undefined
    : { message: `\`${key}\` is not a qualified name` }
const tls = object('listener TLS', {
  mode: def(oneOf(['Terminate', 'Passthrough']), 'Terminate', 'Whether the gateway terminates the TLS connection.'),
  certificateRefs: opt(list(certificateRef, { max: 64 }), 'Secrets with certificates: `tls.crt` and `tls.key`.'),
  options: opt(map(string({ max: 4096 }), { max: 16, keys: optionKeys }), 'Settings of the implementation.'),
})
export function namespacesFrom<const V extends string>(values: readonly V[], fallback: V, what: string) {
  return object(`${what} namespaces`, {
    from: def(oneOf(values), fallback, `Which namespaces ${what}s may come from.`),
    selector: opt(labelSelector, 'The namespaces, for Selector.'),
  })
}
const allowedRoutes = object('allowed routes', {
  namespaces: def(
    namespacesFrom(['All', 'Selector', 'Same'], 'Same', 'route'),
    { from: 'Same' },
    'Where routes may come from.',
  ),
  kinds: opt(
    list(
      object('route kind', {
        group: def(groupName, GATEWAY_GROUP, 'The API group.'),
        kind: req(kindName, 'The kind.'),
      }),
      { max: 8 },
    ),
    'Which kinds of routes may attach; by the protocol when unset.',
  ),
})
const PROTOCOLS = ['HTTP', 'HTTPS', 'TLS', 'TCP', 'UDP', 'HBONE']
const listenerFields = {
  name: req(subdomain, 'The name; routes and policies can refer to it.'),
  hostname: opt(hostname, 'The host names that the listener is for; all when unset.'),
  port: req(port, 'The port.'),
  protocol: req(
    string({
      min: 1,
      max: 255,
      pattern:
        /^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$|[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/[A-Za-z0-9]+$/,
      form: 'a protocol',
    }),
    `${PROTOCOLS.slice(0, -1).join(', ')} or ${PROTOCOLS.at(-1)}.`,
  ),
  tls: opt(tls, 'How TLS connections are terminated.'),
  allowedRoutes: def(allowedRoutes, {}, 'Which routes may attach.'),
}
export const listener = object('listener', listenerFields)

interface Listener {
  readonly name: string
  readonly port: number
  readonly protocol: string
  readonly hostname?: string
  readonly tls?: { readonly mode: string; readonly certificateRefs?: readonly unknown[]; readonly options?: object }
}
/** Names are unique, and so are combinations of port, protocol and hostname; TLS settings fit the protocol. */
export const listenerRules: Rule = value => {
  const listeners = (value.listeners ?? []) as readonly Listener[]
  return listeners.flatMap((each, i) => {
    const at = ['listeners', i]
    const problems = []
    const { protocol, tls, hostname } = each
    // Implementation-specific protocols have a domain prefix.
    if (!PROTOCOLS.includes(protocol) && !protocol.includes('/')) {
      const help = didYouMean(protocol, PROTOCOLS) ?? `protocols: ${PROTOCOLS.join(', ')}`
      problems.push(
        problem([...at, 'protocol'], `there is no protocol \`${protocol}\``, { at: 'value', code: 'GW104', help }),
      )
    }
    if (tls && ['HTTP', 'TCP', 'UDP'].includes(protocol)) {
      problems.push(problem([...at, 'tls'], `\`tls\` does not go with \`protocol: ${protocol}\``))
    } else if (protocol === 'TLS' && !tls) {
      problems.push({ ...missing('tls', '`protocol: TLS` needs `tls` with a `mode`'), path: [...at, 'tls'] })
    } else if (tls && protocol === 'HTTPS' && tls.mode !== 'Terminate') {
      problems.push(
        problem([...at, 'tls', 'mode'], '`protocol: HTTPS` goes only with `mode: Terminate`', { at: 'value' }),
      )
    }
    if (tls?.mode === 'Terminate' && !tls.certificateRefs?.length && Object.keys(tls.options ?? {}).length === 0) {
      problems.push({
        ...missing('certificateRefs', '`mode: Terminate` needs `certificateRefs` or `options`'),
        path: [...at, 'tls', 'certificateRefs'],
      })
    }
    if (hostname !== undefined && ['TCP', 'UDP'].includes(protocol)) {
      problems.push(problem([...at, 'hostname'], `\`hostname\` does not go with \`protocol: ${protocol}\``))
    }
    const twin = listeners.findIndex(
      other => other.port === each.port && other.protocol === protocol && other.hostname === hostname,
    )
    if (twin < i) {
      const message = `listeners \`${listeners[twin]!.name}\` and \`${each.name}\` have the same port, protocol and host name`
      problems.push({ path: at, at: 'value' as const, message })
    }
    return problems
  })
}

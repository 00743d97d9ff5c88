import { list, map, object, oneOf, opt, req, string } from '../../schema/builder.ts'
import { GATEWAY_GROUP } from '../../schema/resource-references.ts'
import { groupName, kindName, preciseHostname, refName, subdomain } from '../../schema/resource-scalars.ts'
import { missing, problem } from '../../schema/rules.ts'
import { optionKeys } from './parts/listener.ts'
import { defineKind, foreignStatus } from './resource.ts'

const target = object(
  'policy target',
  {
    group: req(groupName, 'The API group; empty for a Service.'),
    kind: req(kindName, 'The kind.'),
    name: req(refName, 'The name.'),
    sectionName: opt(subdomain, 'One port of the Service, by name.'),
  },
  { refers: { to: 'target', kind: 'Service' } },
)
const caCertificateRef = object(
  'CA certificate reference',
  {
    group: req(groupName, 'The API group; empty for a ConfigMap.'),
    kind: req(kindName, 'The kind.'),
    name: req(refName, 'The name.'),
  },
  { refers: { to: 'data', kind: 'ConfigMap', keys: [['ca.crt']] } },
)
const altName = object(
  'subject alternative name',
  {
    type: req(oneOf(['Hostname', 'URI']), 'The type.'),
    hostname: opt(
      string({
        min: 1,
        max: 253,
        pattern: /^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
        form: 'a host name of lower-case labels, `*.` in front if wanted',
      }),
      'The host name.',
    ),
    uri: opt(string({ min: 1, max: 253, pattern: /^[^:/?#]+:\/\/[^/?#]*/, form: 'an absolute URI' }), 'The URI.'),
  },
  {
    check: value => {
      const [wanted, other] = value.type === 'Hostname' ? ['hostname', 'uri'] : ['uri', 'hostname']
      if (value[wanted!] === undefined) return [missing(wanted!, `\`type: ${String(value.type)}\` needs \`${wanted}\``)]
      return value[other!] === undefined
        ? []
        : [problem([other!], `\`${other}\` does not go with \`type: ${String(value.type)}\``)]
    },
  },
)
const validation = object(
  'certificate validation',
  {
    caCertificateRefs: opt(list(caCertificateRef, { max: 8 }), 'CAs that may sign the certificate.'),
    wellKnownCACertificates: opt(string({ min: 1, max: 253 }), '`System`: the certificates of the system.'),
    hostname: req(preciseHostname, 'The server name sent and verified.'),
    subjectAltNames: opt(list(altName, { max: 5 }), 'Accepted names in the certificate.'),
  },
  {
    check: value => {
      const refs = ((value.caCertificateRefs ?? []) as readonly unknown[]).length > 0
      const known = value.wellKnownCACertificates !== undefined
      if (refs && known)
        return [
          problem(
            ['wellKnownCACertificates'],
            '`wellKnownCACertificates` cannot be combined with `caCertificateRefs`',
            {
              code: 'GW108',
            },
          ),
        ]
      return refs || known
        ? []
        : [
            {
              ...missing('caCertificateRefs', 'set `caCertificateRefs` or `wellKnownCACertificates`'),
              code: 'GW107' as const,
            },
          ]
    },
  },
)
const spec = object('backend TLS policy', {
  targetRefs: req(list(target, { min: 1, max: 16 }), 'The Services that the policy applies to.'),
  validation: req(validation, 'How the certificate is verified.'),
  options: opt(map(string({ max: 4096 }), { max: 16, keys: optionKeys }), 'Settings of the implementation.'),
})

export const backendTlsPolicy = defineKind(
  {
    kind: 'BackendTLSPolicy',
    group: GATEWAY_GROUP,
    versions: ['v1', 'v1alpha3'],
    namespaced: true,
  },
  { spec: req(spec, 'How TLS to Services is verified.'), status: foreignStatus },
)

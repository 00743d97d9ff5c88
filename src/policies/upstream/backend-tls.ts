// TLS to a backend: parameters and verification (specification, backend policies `tls`).

import type { Path } from '../../diagnostics/diagnostic.ts'
import type { TlsOptions } from '../../http/transport.ts'
import { boolean, def, type Infer, list, object, opt, string } from '../../schema/builder.ts'
import { keyExchangeGroupsSchema } from '../../schema/tls-fields.ts'
import { type CompileContext, definePolicy } from '../policy.ts'
import { connectionFields, convertTls } from './cluster/connection.ts'

const file = string({ min: 1 })
const schema = object(
  'backend TLS',
  {
    cert: opt(file, 'Path of the PEM certificate chain that the gateway presents; needs `key`.'),
    key: opt(file, 'Path of the PEM private key; needs `cert`.'),
    root: opt(file, 'Path of the PEM bundle that the backend must chain to; the system’s when unset.'),
    hostname: opt(string({ min: 1, max: 253 }), 'Server name that is sent and verified; the host when unset.'),
    insecure: def(boolean, false, 'The certificate is not verified at all.'),
    insecureHost: def(boolean, false, 'The chain is verified, the name is not.'),
    alpn: opt(list(string({ min: 1, max: 255 }), { min: 1 }), 'Protocols to offer.'),
    subjectAltNames: opt(
      list(string({ min: 1 }), { min: 1 }),
      'Names, one of which the certificate must contain, instead of the server name.',
    ),
    keyExchangeGroups: opt(keyExchangeGroupsSchema, 'Key exchange groups in order of preference.'),
    spiffe: opt(object('SPIFFE settings', {}, { open: true }), 'Identity from a SPIFFE workload API.', {
      unserved: 'Identities from a SPIFFE workload API are not served yet; use `cert`, `key` and `root`.',
    }),
  },
  {
    check: v => {
      if ((v.cert === undefined) === (v.key === undefined)) return []
      const set = v.cert === undefined ? 'key' : 'cert'
      const missing = set === 'key' ? 'cert' : 'key'
      return [
        { path: [set], at: 'key', message: `\`${set}\` needs \`${missing}\``, label: `\`${missing}\` is missing` },
      ]
    },
  },
)
type Spec = Infer<typeof schema>

export const backendTLS = definePolicy({
  name: 'backendTLS',
  doc: 'Uses TLS to the backend; `{}` verifies against the system’s trust store.',
  cluster: [
    {
      section: 'backend',
      on: 'target',
      member: 'tls',
      field: connectionFields.tls,
      convert: convertTls,
    },
  ],
  guards: true,
  attach: ['route', 'backend', 'target'],
  perBackend: true,
  schema,
  compile: (spec, ctx) => ({ upstream: { tls: tlsOptions(spec, [], ctx) } }),
})

/** `path`: of `spec` within the policy's spec. */
export function tlsOptions(spec: Spec, path: Path, ctx: CompileContext): TlsOptions {
  const ca = pem(spec.root, ctx, [...path, 'root'])
  const cert = pem(spec.cert, ctx, [...path, 'cert'])
  const key = pem(spec.key, ctx, [...path, 'key'])
  return {
    ...(spec.hostname === undefined ? {} : { servername: spec.hostname }),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(spec.insecure
      ? { insecureSkipVerify: 'All' as const }
      : spec.insecureHost
        ? { insecureSkipVerify: 'Hostname' as const }
        : {}),
    ...(spec.subjectAltNames === undefined ? {} : { subjectAltNames: spec.subjectAltNames }),
    ...(spec.alpn === undefined ? {} : { alpn: spec.alpn }),
    ...(spec.keyExchangeGroups === undefined ? {} : { groups: spec.keyExchangeGroups }),
  }
}

function pem(file: string | undefined, ctx: CompileContext, at: Path): string | undefined {
  const text = file === undefined ? undefined : ctx.readFile(file, at)?.toString('latin1')
  if (text !== undefined && !text.includes('-----BEGIN ')) {
    ctx.report({
      code: 'GW207',
      message: `the file \`${file}\` is not PEM`,
      path: at,
      at: 'value',
      label: 'holds no `-----BEGIN …-----`',
      help: 'convert it with `openssl x509 -inform der -in FILE`, or `openssl pkey` for a key',
    })
    return undefined
  }
  return text
}

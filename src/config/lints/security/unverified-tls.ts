import type { Lint } from '../lint.ts'

/** GW509: TLS without verification of the peer. */
export const unverifiedTls: Lint = file => {
  file.visit('object', ({ node, value, path }) => {
    if (node.kind !== 'object' || node.name !== 'backend TLS') return
    const spec = value as { insecure?: unknown; insecureHost?: unknown; root?: unknown }
    for (const field of ['insecure', 'insecureHost'] as const) {
      if (spec[field] !== true) continue
      file.report({
        code: 'GW509',
        message:
          field === 'insecure'
            ? 'the certificate is not verified: anyone on the network path can read and change the traffic'
            : 'the name in the certificate is not verified: any server with a trusted certificate can answer',
        path: [...path, field],
        at: 'value',
        label: 'not verified',
        help:
          field === 'insecure'
            ? spec.root === undefined
              ? 'name the issuer with `root`'
              : 'remove it: `root` names the issuer already'
            : 'name the server with `hostname` or `subjectAltNames`',
      })
    }
  })
}

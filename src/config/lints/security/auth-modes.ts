import { neededBy } from '../../../cel/terms/terms.ts'
import type { Lint } from '../lint.ts'

const ROOTS = { jwtAuth: 'jwt', apiKey: 'apiKey', basicAuth: 'basicAuth' } as const
const NAMES = Object.keys(ROOTS) as (keyof typeof ROOTS)[]

/** GW516: rules that depend on an optional credential. */
export const optionalAuth: Lint = file => {
  for (const { policies } of file.sites) {
    for (const name of NAMES) {
      const auth = policies[name]
      if (!auth || auth.mode === 'strict' || !policies.authorization) continue
      const reads = policies.authorization.rules.filter(({ when }) => {
        const term = file.termOf(when.text)
        return term && neededBy(term).some(([root]) => root === ROOTS[name])
      })
      const rule = reads.find(({ kind }) => kind === 'deny') ?? reads[0]
      if (!rule) continue
      file.report({
        code: 'GW516',
        message:
          rule.kind === 'deny'
            ? `a request without a credential passes the rule \`deny: ${rule.when.text}\`: a rule about what is not there does not deny`
            : `requests may come without a credential, but a rule needs \`${ROOTS[name]}\`: they get 403 instead of 401`,
        path: [...file.pathOf(auth), 'mode'],
        at: 'value',
        label: 'does not ask for a credential',
        help: 'write `mode: strict`, or let the rule allow for requests without one: `has(…)`',
      })
    }
  }
}

/** GW517: a default that differs from the public system's. */
export const defaultMode: Lint = file => {
  for (const { policies } of file.sites) {
    for (const name of NAMES) {
      const auth = policies[name]
      if (!auth || file.textAt([...file.pathOf(auth), 'mode']) !== '') continue
      file.report({
        code: 'GW517',
        message: `\`${name}\` without \`mode\` is strict here, and optional in agentgateway`,
        path: file.pathOf(auth),
        at: 'key',
        label: 'a credential is needed',
        help: 'write `mode: strict` (or `optional`), so that both read the file alike',
      })
    }
  }
}

/** GW540: two policies that read their credentials from the same place. */
export const sameCredential: Lint = file => {
  for (const { policies } of file.sites) {
    const strict = NAMES.filter(name => {
      const auth = policies[name]
      const location =
        auth &&
        ('location' in auth ? auth.location : 'authorizationLocation' in auth ? auth.authorizationLocation : undefined)
      return auth?.mode === 'strict' && location === undefined
    })
    const [first, second] = strict
    if (!first || !second) continue
    file.report({
      code: 'GW540',
      message: `\`${first}\` and \`${second}\` both need the \`Authorization\` header: no request passes`,
      path: file.pathOf(policies[second]!),
      at: 'key',
      label: 'finds the header gone',
      help: `give one of them a \`location\`, or make it optional`,
      related: [{ path: file.pathOf(policies[first]!), at: 'key', message: 'removes the header first' }],
    })
  }
}

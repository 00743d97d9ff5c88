// Listener fields that the file may have and the engine does not serve, so that nobody relies on them.
import { listenerPolicyFields } from '../../policies/index.ts'
import type { Compilation } from '../compile-context.ts'
import type { ListenerPlan } from '../plan-listeners.ts'

export function reportUnserved(plan: ListenerPlan, c: Compilation): void {
  if (plan.protocol === 'HBONE') {
    c.report({
      code: 'GW601',
      message: '`protocol: HBONE` is valid but not served yet',
      path: [...plan.path, 'protocol'],
      at: 'value',
      label: 'gwctl run refuses to start with this',
      note: 'Connections of a mesh are not taken apart.',
    })
  }
  if (!['TCP', 'TLS', 'UDP'].includes(plan.protocol)) return
  for (const name in listenerPolicyFields) {
    if (plan.policies?.[name] === undefined) continue
    c.report({
      code: 'GW601',
      message: `\`${name}\` is not served on a listener for ${plan.protocol}`,
      path: [...plan.policiesPath, name],
      at: 'key',
      label: 'gwctl run refuses to start with this',
      note: 'It applies to requests, and this listener handles only connections.',
      help: 'rules on connections go into `frontendPolicies.networkAuthorization`',
    })
  }
}

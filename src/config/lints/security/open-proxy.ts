import type { Lint } from '../lint.ts'
import { routesOf } from '../sites.ts'

/** GW511: an open forward proxy. */
export const openProxy: Lint = file => {
  for (const route of routesOf(file.config)) {
    const backend = route.backends.find(each => each.dynamic !== undefined)
    const { authorization, extAuthz } = route.policies ?? {}
    if (!backend || authorization || extAuthz || backend.dynamic?.target) continue
    if (file.sites.some(({ level, policies }) => level !== 'backend' && (policies.authorization || policies.extAuthz)))
      continue
    file.report({
      code: 'GW511',
      message: 'clients choose the destination, and nothing restricts it',
      path: [...file.pathOf(backend), 'dynamic'],
      at: 'key',
      label: 'an open proxy, into your own network too',
      help: 'add `authorization` with rules over `request.host`',
    })
  }
}

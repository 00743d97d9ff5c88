import type { Lint } from '../lint.ts'
import { routesOf } from '../sites.ts'

/** GW505: backends whose weights are all zero. */
export const zeroWeights: Lint = file => {
  const { config } = file
  const tcp = [
    ...config.binds.flatMap(bind => bind.listeners.flatMap(each => each.tcpRoutes ?? [])),
    ...config.tcpRoutes,
  ]
  for (const { backends } of [...routesOf(config), ...tcp]) {
    if (backends.length === 0 || backends.some(backend => backend.weight > 0)) continue
    file.report({
      code: 'GW505',
      message: 'every backend of the route has weight 0: no request gets an answer from one',
      path: [...file.pathOf(backends[0]!), 'weight'],
      at: 'value',
      label: 'takes no requests',
      help: 'give one backend a weight of 1 or more',
    })
  }
}

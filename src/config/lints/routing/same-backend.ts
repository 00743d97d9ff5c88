import { valueAt } from '../../compile-context.ts'
import type { Lint } from '../lint.ts'
import { routesOf } from '../sites.ts'

/** GW561: a backend that a route references twice. */
export const sameBackend: Lint = file => {
  const tcp = [
    ...file.config.binds.flatMap(bind => bind.listeners.flatMap(each => each.tcpRoutes ?? [])),
    ...file.config.tcpRoutes,
  ]
  for (const { backends } of [...routesOf(file.config), ...tcp]) {
    const first = new Map<string, object>()
    for (const backend of backends) {
      const { weight: _, ...rest } = (valueAt(file.document.value, file.pathOf(backend)) ?? {}) as Record<
        string,
        unknown
      >
      const key = JSON.stringify(rest)
      const known = first.get(key)
      if (known === undefined || key === '{}') {
        first.set(key, backend)
        continue
      }
      file.report({
        code: 'GW561',
        message: 'the route names this backend twice',
        path: file.pathOf(backend),
        at: 'value',
        label: 'its weights add up',
        help: 'name another backend, or write one entry with the weight of both',
        related: [{ path: file.pathOf(known), at: 'value', message: 'first named here' }],
      })
    }
  }
}

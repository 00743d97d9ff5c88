import type { Lint } from '../lint.ts'
import { mcpBackends } from '../sites.ts'

/** GW515: several targets whose tools may have the same name. */
export const mcpPrefix: Lint = file => {
  for (const backend of mcpBackends(file.config)) {
    if (backend.prefixMode !== 'never' || backend.targets.length < 2) continue
    file.report({
      code: 'GW515',
      message: `${backend.targets.length} targets share one set of names: a name that two of them use reaches neither`,
      path: [...file.pathOf(backend), 'prefixMode'],
      at: 'value',
      label: 'names may collide',
      help: 'remove it: names then carry the name of their target',
    })
  }
}

import type { Lint } from '../lint.ts'
import { routesOf } from '../sites.ts'

/** GW560: the path matched as a header, which includes the query and bypasses path rules. */
export const pseudoHeader: Lint = file => {
  for (const route of routesOf(file.config)) {
    for (const { headers } of route.matches) {
      for (const header of headers) {
        if (header.name.toLowerCase() !== ':path') continue
        file.report({
          code: 'GW560',
          message: '`:path` is the path with its query: a request with any query does not match',
          path: [...file.pathOf(header), 'name'],
          at: 'value',
          label: 'not a header of requests',
          help: 'match with `path`, and the query with `query`',
        })
      }
    }
  }
}

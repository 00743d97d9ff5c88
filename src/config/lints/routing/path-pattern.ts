import type { Lint } from '../lint.ts'
import { routesOf } from '../sites.ts'

/** GW526: a pattern that matches no path, since every path starts with `/`. */
export const pathPattern: Lint = file => {
  for (const route of routesOf(file.config)) {
    for (const { path } of route.matches) {
      const source = path.regex?.source
      if (source === undefined || !/^\^?(\((\?:)?)*[A-Za-z0-9_-]/.test(source) || source.includes('|')) continue
      file.report({
        code: 'GW526',
        message: 'no path matches: every path starts with `/`, and a pattern has to match the whole of it',
        path: [...file.pathOf(path), 'regex'],
        at: 'value',
        label: 'lacks the leading `/`',
        help: `write \`/${source.replace(/^\^/, '')}\``,
        fix: {
          title: 'add the leading `/`',
          safe: false,
          replace: 'value',
          with: JSON.stringify(`/${source.replace(/^\^/, '')}`),
        },
      })
    }
  }
}

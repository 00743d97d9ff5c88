import type { Lint } from '../lint.ts'
import { routesOf } from '../sites.ts'

/** A segment that other gateways and frameworks read as a placeholder, or characters that only patterns use. */
const SUSPICIOUS =
  /(?:^|\/)(?:\*{1,2}|:[A-Za-z_]\w*|\{[^/{}]*\}|<[^/<>]*>)(?=\/|$)|\.\*|\[[^\]/]+\][*+]|\\[dw/.]|\([^)/]*\|[^)/]*\)|\$$/

/** GW555: a pattern in a field that is compared literally. */
export const literalPattern: Lint = file => {
  for (const route of routesOf(file.config)) {
    for (const { path } of route.matches) {
      for (const field of ['exact', 'pathPrefix'] as const) {
        const beyond = /[?#]/.exec(path[field] ?? '')
        if (beyond) {
          file.report({
            code: 'GW555',
            message: `no path holds a \`${beyond[0]}\`: what follows it is not part of the path`,
            path: [...file.pathOf(path), field],
            at: 'value',
            label: 'never matches',
            help: beyond[0] === '?' ? 'match the query with `query`' : 'remove it: clients do not send fragments',
          })
          continue
        }
        const found = path[field] === undefined ? undefined : SUSPICIOUS.exec(path[field])
        if (!found) continue
        const part = found[0].replace(/^\//, '')
        const rest = path[field]!.slice(0, found.index)
        const isTail = /^\/?\*{1,2}$/.test(path[field]!.slice(found.index))
        file.report({
          code: 'GW555',
          message: `\`${part}\` is not a pattern here: only a path with exactly this text matches`,
          path: [...file.pathOf(path), field],
          at: 'value',
          label: 'compared as text',
          help: isTail
            ? `write \`pathPrefix: ${rest === '' ? '/' : rest}\`: a prefix takes everything below it`
            : `write a pattern: \`regex: ${patternFor(path[field]!)}${field === 'pathPrefix' ? '(/.*)?' : ''}\``,
        })
      }
    }
  }
}

function patternFor(path: string): string {
  const segments = path.split('/').map(each => (/^(?:\*|:\w+|\{[^{}]*\}|<[^<>]*>)$/.test(each) ? '[^/]+' : each))
  return segments.join('/').replace(/\$$/, '').replaceAll('**', '.*')
}

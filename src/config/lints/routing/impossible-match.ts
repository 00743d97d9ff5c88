import type { Lint, LintedFile } from '../lint.ts'
import { routesOf } from '../sites.ts'

/** GW569: a match that requires two values of one header or query parameter. */
export const impossibleMatch: Lint = file => {
  for (const { matches } of routesOf(file.config)) {
    for (const { headers, query } of matches) {
      checkValues('header', headers, name => name.toLowerCase(), file)
      checkValues('query parameter', query, name => name, file)
    }
  }
}

interface ValueMatch {
  readonly name: string
  readonly value: { readonly exact?: string }
}

function checkValues(what: string, list: readonly ValueMatch[], key: (name: string) => string, file: LintedFile): void {
  const first = new Map<string, ValueMatch>()
  for (const each of list) {
    const { exact } = each.value
    if (exact === undefined) continue
    const known = first.get(key(each.name))
    if (known === undefined) {
      first.set(key(each.name), each)
      continue
    }
    const same = known.value.exact === exact
    file.report({
      code: 'GW569',
      message: same
        ? `the ${what} \`${each.name}\` is matched twice with the same value`
        : `the ${what} \`${each.name}\` cannot have two values at once: no request matches`,
      path: [...file.pathOf(each), 'value'],
      at: 'value',
      label: same ? 'changes nothing' : 'all entries must match',
      help: same
        ? 'remove one of them'
        : 'for one value or the other, write two items of `matches`, or one `regex` such as `a|b`',
      related: [{ path: [...file.pathOf(known), 'value'], at: 'value', message: 'the other value' }],
    })
  }
}

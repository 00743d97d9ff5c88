import type { Lint } from '../lint.ts'

/** Lists with set semantics: neither order nor duplicates matter. */
const SETS: ReadonlySet<string | number | undefined> = new Set([
  'hostnames',
  'allowOrigins',
  'allowMethods',
  'allowHeaders',
  'exposeHeaders',
  'additionalOrigins',
  'audiences',
  'codes',
  'remove',
])
const FOLDED: ReadonlySet<string | number | undefined> = new Set([
  'hostnames',
  'allowHeaders',
  'exposeHeaders',
  'remove',
])

/** GW574: a duplicate item in a list with set semantics. */
export const repeatedItem: Lint = file => {
  file.visit('list', ({ value, path }) => {
    const name = path.at(-1)
    if (!SETS.has(name) || !Array.isArray(value) || value.length < 2) return
    const first = new Map<string, number>()
    for (const [at, item] of value.entries()) {
      if (typeof item !== 'string' && typeof item !== 'number') continue
      const key = FOLDED.has(name) ? String(item).toLowerCase() : String(item)
      const known = first.get(key)
      first.set(key, known ?? at)
      if (known === undefined) continue
      file.report({
        code: 'GW574',
        message: `\`${item}\` stands twice in \`${name}\``,
        path: [...path, at],
        at: 'value',
        label: 'changes nothing',
        help: 'remove it, or correct it if another one was meant',
        related: [{ path: [...path, known], at: 'value', message: 'first written here' }],
      })
    }
  })
}

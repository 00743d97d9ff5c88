import type { Lint } from '../lint.ts'

/** GW512: decisions about one client that are reused for another. */
export const decisionCache: Lint = file => {
  for (const { policies } of file.sites) {
    const { extAuthz } = policies
    for (const entry of extAuthz ? [extAuthz, ...(extAuthz.conditional ?? [])] : []) {
      if (!entry.cache) continue
      const texts = entry.cache.key.map(part => part.text.toLowerCase())
      const sent = entry.includeRequestHeaders?.map(name => name.toLowerCase()) ?? ['authorization']
      const wanted = sent.filter(name => name === 'authorization' || name === 'cookie' || name.includes('api-key'))
      const missing = wanted.filter(
        name => !texts.some(text => text.includes(name) || /\b(jwt|apikey|basicauth|headers\b(?!\[|\.))/.test(text)),
      )
      if (missing.length === 0) continue
      file.report({
        code: 'GW512',
        message: `the service decides on \`${missing[0]}\`, but decisions are kept without it`,
        path: [...file.pathOf(entry.cache), 'key'],
        at: 'key',
        label: "one client gets another client's decision",
        help: `add \`request.headers["${missing[0]}"]\` to the key`,
      })
    }
  }
}

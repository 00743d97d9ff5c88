import type { Lint } from '../lint.ts'

const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
]

/** GW525: a connection-specific header, which the gateway writes itself. */
export const hopHeaders: Lint = file => {
  for (const { policies } of file.sites) {
    const { transformations } = policies
    const sides = transformations ? [transformations, ...(transformations.conditional ?? [])] : []
    const changes = [
      policies.requestHeaderModifier,
      policies.responseHeaderModifier,
      ...sides.flatMap(side => [side.request, side.response]),
    ]
    for (const map of changes.flatMap(change => [change?.add, change?.set])) {
      for (const name of Object.keys(map ?? {})) {
        if (!HOP_BY_HOP.includes(name.toLowerCase())) continue
        file.report({
          code: 'GW525',
          message: `\`${name}\` belongs to a single connection: the gateway writes it itself`,
          path: [...file.pathOf(map!), name],
          at: 'key',
          label: 'has no effect, or breaks the message',
          help: 'remove it',
        })
      }
    }
  }
}

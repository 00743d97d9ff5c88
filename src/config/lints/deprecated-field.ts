import type { Lint } from './lint.ts'

/** GW529: a deprecated field. */
export const deprecatedField: Lint = file => {
  file.visit('any', ({ field, path }) => {
    if (field?.deprecated === undefined) return
    file.report({
      code: 'GW529',
      message: `\`${path.at(-1)}\` is deprecated`,
      path: [...path],
      at: 'key',
      label: 'older form',
      help: field.deprecated,
    })
  })
}

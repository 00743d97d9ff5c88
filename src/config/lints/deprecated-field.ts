import type { Lint } from './lint.ts'

/** GW529: a field that has a successor. */
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

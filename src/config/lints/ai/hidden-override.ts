import type { Lint } from '../lint.ts'

/** GW506: a fixed value that a computed one always replaces. */
export const hiddenOverride: Lint = file => {
  const pairs = [
    ...file.sites.map(({ policies }) => [policies.ai?.overrides, policies.ai?.transformations] as const),
    ...(file.config.llm?.models ?? []).map(model => [model.overrides, model.transformation] as const),
    ...(file.config.llm?.providers ?? []).map(
      ({ defaults }) => [defaults?.overrides, defaults?.transformation] as const,
    ),
  ]
  for (const [overrides, computed] of pairs) {
    if (!overrides || !computed) continue
    for (const key of Object.keys(overrides)) {
      if (!Object.hasOwn(computed, key)) continue
      file.report({
        code: 'GW506',
        message: `\`${key}\` is computed too: this value is never used`,
        path: [...file.pathOf(overrides), key],
        at: 'key',
        label: 'has no effect',
        help: 'computed fields beat `overrides`; remove one of them',
        related: [{ path: [...file.pathOf(computed), key], at: 'key', message: 'computed here' }],
      })
    }
  }
}

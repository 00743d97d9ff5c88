import type { Lint, LintedFile } from '../lint.ts'

type Fields = Readonly<Record<string, unknown>>
interface Edits {
  readonly defaults?: Fields | undefined
  readonly overrides?: Fields | undefined
  readonly transformation?: Fields | undefined
}

/** GW506: a fixed value that another one always replaces. */
export const hiddenOverride: Lint = file => {
  const all: readonly (Edits | undefined)[] = [
    ...file.sites.map(({ policies: { ai } }) => ai && { ...ai, transformation: ai.transformations }),
    ...(file.config.llm?.models ?? []),
    ...(file.config.llm?.providers ?? []).map(({ defaults }) => defaults),
  ]
  for (const { defaults, overrides, transformation } of all.filter(each => each !== undefined)) {
    report(overrides, transformation, 'is computed too', 'computed', file)
    report(defaults, overrides, 'is overridden', 'overridden', file)
  }
}

function report(hidden: Fields | undefined, by: Fields | undefined, what: string, how: string, file: LintedFile): void {
  if (!hidden || !by) return
  for (const key of Object.keys(hidden)) {
    if (!Object.hasOwn(by, key)) continue
    file.report({
      code: 'GW506',
      message: `\`${key}\` ${what}: this value is never used`,
      path: [...file.pathOf(hidden), key],
      at: 'key',
      label: 'has no effect',
      help: 'computed fields beat `overrides`, which beat `defaults`; remove one of them',
      related: [{ path: [...file.pathOf(by), key], at: 'key', message: `${how} here` }],
    })
  }
}

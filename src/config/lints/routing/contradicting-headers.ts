import type { Lint, LintedFile, Policies } from '../lint.ts'

type Changes = NonNullable<Policies['requestHeaderModifier']>

/** GW563: a header that one policy both sets and removes. */
export const contradictingHeaders: Lint = file => {
  for (const { policies } of file.sites) {
    for (const policy of ['requestHeaderModifier', 'responseHeaderModifier'] as const) {
      const changes = policies[policy]
      if (!changes) continue
      reportReplaced(changes, file)
      if (!changes.remove) continue
      for (const [i, name] of changes.remove.entries()) {
        for (const part of ['set', 'add'] as const) {
          const written = Object.keys(changes[part] ?? {}).find(each => each.toLowerCase() === name.toLowerCase())
          if (written === undefined) continue
          file.report({
            code: 'GW563',
            message: `\`${written}\` is set and then removed, so it is never sent`,
            path: [...file.pathOf(changes), 'remove', i],
            at: 'value',
            label: 'removed last',
            help:
              part === 'set'
                ? 'remove one of them: `set` already replaces what is there'
                : 'write `set` to replace what is there',
            related: [{ path: [...file.pathOf(changes), part, written], at: 'key', message: 'written here' }],
          })
        }
      }
    }
  }
}

/** Values are added first and then replaced. */
function reportReplaced(changes: Changes, file: LintedFile): void {
  const replaced = new Map(Object.keys(changes.set ?? {}).map(name => [name.toLowerCase(), name]))
  for (const name of Object.keys(changes.add ?? {})) {
    const by = replaced.get(name.toLowerCase())
    if (by === undefined) continue
    file.report({
      code: 'GW563',
      message: `\`${name}\` is added and then replaced, so the added value is lost`,
      path: [...file.pathOf(changes), 'add', name],
      at: 'key',
      label: 'replaced by `set`',
      help: 'remove one of them: `set` leaves one value, `add` keeps those of the client',
      related: [{ path: [...file.pathOf(changes), 'set', by], at: 'key', message: 'replaced here' }],
    })
  }
}

import type { Expression } from '../../../cel/expression.ts'
import { constantOf } from '../constant.ts'
import type { Lint, LintedFile } from '../lint.ts'

interface Entry {
  readonly condition: Expression | undefined
  readonly holder: object
}

/** GW503: an entry of `conditional` that an earlier one makes unreachable. */
export const unreachableEntry: Lint = file => {
  for (const { policies } of file.sites) {
    for (const policy of Object.values(policies) as readonly object[]) {
      if (policy === null || typeof policy !== 'object' || !('conditional' in policy)) continue
      const entries = (policy.conditional ?? []) as readonly { readonly condition?: Expression }[]
      if (!Array.isArray(entries)) continue
      checkOrder(
        entries.map(entry => ({ condition: entry.condition, holder: entry })),
        'GW503',
        'entry',
        file,
      )
    }
  }
}

/** GW504: a target of a virtual model that is never selected. */
export const unreachableTarget: Lint = file => {
  for (const { routing } of file.config.llm?.virtualModels ?? []) {
    const targets = routing.conditional?.targets ?? []
    checkOrder(
      targets.map(target => ({ condition: target.when, holder: target })),
      'GW504',
      'target',
      file,
    )
    const seen = new Map<string, object>()
    for (const target of routing.failover?.targets ?? []) {
      const first = seen.get(target.model)
      if (first === undefined) seen.set(target.model, target)
      else
        file.report({
          code: 'GW504',
          message: `\`${target.model}\` is a target already: a model that has failed is not asked again`,
          path: [...file.pathOf(target), 'model'],
          at: 'value',
          label: 'never asked',
          related: [{ path: [...file.pathOf(first), 'model'], at: 'value', message: 'asked here' }],
        })
    }
  }
}

function checkOrder(entries: readonly Entry[], code: 'GW503' | 'GW504', noun: string, file: LintedFile): void {
  const seen = new Map<string, Entry>()
  let always: Entry | undefined
  for (const entry of entries) {
    const text = entry.condition?.text.trim()
    const earlier = always ?? (text === undefined ? undefined : seen.get(text))
    const constant = text === undefined ? { value: true } : constantOf(file.termOf(text))
    const never = constant?.value === false
    if (earlier || never) {
      file.report({
        code,
        message: earlier
          ? `an earlier ${noun} always applies when this one would`
          : `the condition of this ${noun} is never true`,
        path: file.pathOf(entry.holder),
        at: 'value',
        label: 'never reached',
        help: earlier
          ? 'the first one that holds applies: move the narrower condition up'
          : 'remove it, or correct the condition',
        ...(earlier
          ? { related: [{ path: file.pathOf(earlier.holder), at: 'value' as const, message: 'applies instead' }] }
          : {}),
      })
    }
    if (constant?.value) always ??= entry
    else if (text !== undefined && !seen.has(text)) seen.set(text, entry)
  }
}

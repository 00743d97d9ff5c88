import type { FileOrInline } from '../../schema/scalars.ts'
import type { CompileContext } from '../policy.ts'

/** The text of a credential; undefined after a finding. */
export function secretText(
  source: FileOrInline,
  ctx: CompileContext,
  at: readonly (string | number)[],
): string | undefined {
  return 'inline' in source ? source.inline : secretFile(source.file, ctx, [...at, 'file'])
}

/** An empty file contains no credential; reported now, not when it is used. */
export function secretFile(file: string, ctx: CompileContext, at: readonly (string | number)[]): string | undefined {
  const bytes = ctx.readFile(file, at)
  const text = bytes?.toString('utf8').trim()
  if (text === '') {
    ctx.report({
      code: 'GW207',
      message: `the file \`${file}\` is empty`,
      path: at,
      at: 'value',
      label: 'holds no key',
    })
  }
  return text === '' ? undefined : text
}

import { type ConcealText, textConcealer } from '../../cluster/conceal-text.ts'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'

/** The texts of the files with these findings, with secrets masked by `*`. */
export async function shownTexts(
  texts: ReadonlyMap<string, string>,
  diagnostics: readonly Diagnostic[],
): Promise<(file: string) => string | undefined> {
  if (diagnostics.length === 0) return file => texts.get(file)
  const files = new Set(diagnostics.flatMap(({ file, related }) => [file, ...related.map(place => place.file)]))
  const conceal = await concealerFor([...files].map(file => texts.get(file) ?? ''))
  const shown = new Map<string, string | undefined>()
  return file => {
    const text = texts.get(file)
    if (text === undefined || shown.has(file)) return shown.get(file)
    shown.set(file, conceal(file, text))
    return shown.get(file)
  }
}

/** Masks the secrets of these texts. */
export function concealerFor(texts: readonly string[]): Promise<ConcealText> {
  return textConcealer({ resources: texts.some(text => /\bkind\b/.test(text)) })
}

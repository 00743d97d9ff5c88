import { parseSource } from '../../../src/diagnostics/source.ts'
import {
  renderTranslation,
  type Translation,
  type TranslationOptions,
  translateTexts,
} from '../../../src/tools/input/translate-resources.ts'

const DEFAULTS: TranslationOptions = { partial: false, withSecrets: true, allowUnguarded: false }

export function translated(
  texts: Readonly<Record<string, string>>,
  o: Partial<TranslationOptions> = {},
): Promise<Translation> {
  const inputs = Object.entries(texts).map(([file, text]) => ({ file, text }))
  return translateTexts(inputs, '/', { ...DEFAULTS, ...o })
}

export async function translatedText(text: string, o: Partial<TranslationOptions> = {}): Promise<string> {
  return renderTranslation(await translated({ 'case.yaml': text }, o), 'yaml', false)
}

/** The file as data. */
export function fileOf(translation: Translation): Record<string, unknown> {
  return translation.finished.value
}

/** `Kind namespace/name owner Type=Status (Reason)`, as the table of statuses has them. */
export function statusLines(translation: Translation): string[] {
  const [, ...rows] = renderTranslation(translation, 'status-table', false).trimEnd().split('\n')
  return rows.map(row => row.replace(/\s{2,}/g, '  '))
}

export function documentsOf(text: string): unknown[] {
  return parseSource('case.yaml', text).documents.map(document => document.value)
}

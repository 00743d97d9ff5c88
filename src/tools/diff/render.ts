import type { Diff } from './diff.ts'
import { renderGithub } from './render-github.ts'
import { renderMarkdown } from './render-markdown.ts'
import { renderText, type TextOptions } from './render-text.ts'

export const DIFF_FORMATS = ['text', 'json', 'markdown', 'github'] as const
export type DiffFormat = (typeof DIFF_FORMATS)[number]

export function renderDiff(diff: Diff, format: DiffFormat, options: TextOptions): string {
  switch (format) {
    case 'text':
      return renderText(diff, options)
    case 'json':
      return `${JSON.stringify({ version: 1, ...diff }, null, 2)}\n`
    case 'markdown':
      return renderMarkdown(diff)
    case 'github':
      return renderGithub(diff)
  }
}

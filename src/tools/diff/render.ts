import { printableJson } from '../../diagnostics/render/json.ts'
import type { Diff } from './diff.ts'
import { renderGithub } from './render-github.ts'
import { renderMarkdown } from './render-markdown.ts'
import { renderText, type TextOptions } from './render-text.ts'

export function renderDiff(diff: Diff, format: 'text' | 'json' | 'markdown' | 'github', options: TextOptions): string {
  switch (format) {
    case 'text':
      return renderText(diff, options)
    case 'json':
      return `${printableJson(JSON.stringify({ version: 1, ...diff }, null, 2))}\n`
    case 'markdown':
      return renderMarkdown(diff)
    case 'github':
      return renderGithub(diff)
  }
}

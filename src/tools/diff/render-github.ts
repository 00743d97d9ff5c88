import { workflowCommand } from '../../diagnostics/render/github.ts'
import type { Diff } from './diff.ts'
import type { Change } from './structure.ts'
import { countWords, fieldWords, listWords } from './words.ts'

/** A step shows this many annotations of each kind and drops the others. */
const SHOWN = 10

/** Workflow commands: an annotation at each line of the new configuration that differs. */
export function renderGithub({ changes }: Diff): string {
  const lines = changes.slice(0, SHOWN).map(annotation)
  return [...lines, countWords(changes)].map(line => `${line}\n`).join('')
}

function annotation({ change, label, newLabel, before, after, fields, also }: Change): string {
  const [, file, line] = /^(.*):(\d+)$/s.exec(after || before) ?? []
  const place = file === undefined || line === undefined || after === '' ? {} : { file, line }
  const title = `${label} ${change === 'renamed' ? `is now ${newLabel ?? label}` : `was ${change}`}`
  const others = also.length === 0 ? [] : [`also ${listWords(also)}`]
  return workflowCommand('notice', { ...place, title }, [...fields.map(fieldWords), ...others].join('\n') || title)
}

import { workflowCommand } from '../../diagnostics/render/github.ts'
import type { Diff } from './diff.ts'
import type { RequestDifference } from './requests.ts'
import type { Change } from './structure.ts'
import {
  countWords,
  decisionWords,
  fieldWords,
  listWords,
  outcomeWords,
  requestCountWords,
  requestWords,
} from './words.ts'

/** The limit per step on annotations of each kind; GitHub drops the others. */
const SHOWN = 10

/** Workflow commands: an annotation on each differing line of the new configuration. */
export function renderGithub({ changes, requests }: Diff): string {
  const lines = [
    ...(requests?.differ ?? []).slice(0, SHOWN).map(requestAnnotation),
    ...changes.slice(0, SHOWN).map(annotation),
    countWords(changes),
    ...(requests === undefined ? [] : [requestCountWords(requests)]),
  ]
  return lines.map(line => `${line}\n`).join('')
}

function requestAnnotation(each: RequestDifference): string {
  const title = requestWords(each)
  const message = [...each.differences.map(outcomeWords), decisionWords(each)].join('\n')
  return workflowCommand('warning', { ...fileAndLine(each.after.at), title }, message)
}

function annotation({ change, label, newLabel, after, fields, also }: Change): string {
  const title = `${label} ${change === 'renamed' ? `is now ${newLabel ?? label}` : `was ${change}`}`
  const others = also.length === 0 ? [] : [`also ${listWords(also)}`]
  return workflowCommand(
    'notice',
    { ...fileAndLine(after), title },
    [...fields.map(fieldWords), ...others].join('\n') || title,
  )
}

function fileAndLine(at: string): { readonly file?: string; readonly line?: string } {
  const [, file, line] = /^(.*):(\d+)$/s.exec(at) ?? []
  return file === undefined || line === undefined ? {} : { file, line }
}

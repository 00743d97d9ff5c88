import { placeText } from '../../diagnostics/diagnostic.ts'
import { diffLines } from '../check/line-diff.ts'
import type { RequestTrace } from '../events/state.ts'
import { durationText } from '../events/steps.ts'
import type { Row } from '../terminal/cells.ts'
import { diffRow, lines } from './detail.ts'
import { headLines } from './event-text.ts'

/** Compares two requests line by line, ignoring times and client addresses, which always differ. */
export function comparisonOf(left: RequestTrace, right: RequestTrace, width: number): Row[] {
  const differences = diffLines(stepLines(left), stepLines(right))
  const changed = differences.filter(({ side }) => side !== 'both').length
  return [
    ...lines(`- ${titleOf(left)}`, width, 'error'),
    ...lines(`+ ${titleOf(right)}`, width, 'success'),
    ...lines(
      changed === 0 ? 'The same happened to both.' : changed === 1 ? '1 line differs:' : `${changed} lines differ:`,
      width,
      'dim',
    ),
    ...differences.flatMap(line => diffRow(line, width)),
  ]
}

function titleOf({ id, method, path, source, time, end }: RequestTrace): string {
  const outcome = end === undefined ? 'running' : `${end.status ?? 'client left'} in ${durationText(end.at)}`
  return [`${id} ${method} ${path}: ${outcome}`, source, time].filter(Boolean).join(', ')
}

const TIME_CLAIM = /^jwt\.(?:exp|nbf|iat) = /

function stepLines({ method, url, steps }: RequestTrace): string[] {
  return steps.flatMap(({ event, label, text }) => {
    const { message } = event
    const place = event.origins[0] === undefined ? '' : `  ${placeText(event.origins[0])}`
    const indent = '  '.repeat(event.scope.length)
    if (message.type === 'requestStarted') return [`request: ${method} ${url}`]
    if (message.type === 'snapshot') {
      const head = headLines(message.state).filter(line => !TIME_CLAIM.test(line))
      return [`snapshot: ${message.stage}`, ...head.map(line => `    ${line}`)]
    }
    return [`${indent}${label}: ${text}${place}`]
  })
}

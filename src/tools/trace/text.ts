import { placeText } from '../../diagnostics/diagnostic.ts'
import type { Paint } from '../../diagnostics/paint.ts'
import { visible } from '../../diagnostics/visible.ts'
import { hasFailed, type RequestTrace, type Step } from '../events/state.ts'
import { durationText, eventCount, MARKS, shortKey } from '../events/steps.ts'
import { cellsOf, pad } from '../terminal/cells.ts'

/** One request as a tree, for logs and pipes: its steps in order, nested in their scopes. */
export function requestText(request: RequestTrace, paint: Paint): string {
  const { end } = request
  const outcome = end === undefined ? 'not finished' : `${end.status ?? 'client left'} in ${durationText(end.at)}`
  const facts = [request.about, request.id, request.source, request.time].filter(fact => fact !== '').join(', ')
  const bad = end === undefined || hasFailed(end) || (end.status ?? 0) >= 400
  const title = `${paint.bold(visible(`${request.method} ${request.url || request.path}`))}  ${bad ? paint.error(outcome) : paint.success(outcome)}`
  const lost =
    request.lost === 0
      ? ''
      : `${paint.warning(`  ${eventCount(request.lost)} ${request.lost === 1 ? 'is' : 'are'} missing`)}\n`
  return `${title}  ${paint.dim(visible(facts))}\n${treeOf(request.steps)
    .map(line => `${lineText(line, paint)}\n`)
    .join('')}${lost}`
}

/** A line of the tree before drawing: a step, or the scope of the steps below it. */
type TreeLine =
  | { readonly depth: number; readonly step: Step }
  | { readonly depth: number; readonly name: string }
  | { readonly depth: number; readonly note: string }

function treeOf(steps: readonly Step[]): TreeLine[] {
  const lines: TreeLine[] = []
  let open: readonly string[] = []
  for (const step of steps) {
    const { scope, message } = step.event
    const shared = scope.findIndex((name, i) => name !== open[i])
    const from = shared < 0 ? scope.length : shared
    for (let depth = from; depth < scope.length; depth++) lines.push({ depth, name: scope[depth] as string })
    open = scope
    const depth = scope.length
    lines.push({ depth, step })
    for (const note of notChosen(message)) lines.push({ depth: depth + 1, note })
  }
  return lines
}

function notChosen(message: Step['event']['message']): string[] {
  if (message.type === 'backend')
    return (message.others ?? []).map(({ backend, reason }) => `not ${backend}: ${reason}`)
  if (message.type !== 'route') return []
  const { tried, selected, more = 0 } = message
  const named = tried.slice(0, selected === null ? NEAREST.missed : NEAREST.chosen)
  const notes = named.map(({ route, failed, origin }) => {
    return `not ${shortKey(route)}: ${failed}${origin ? `  ${placeText(origin)}` : ''}`
  })
  const others = tried.length - named.length + more
  return others === 0 ? notes : [...notes, `nor any of ${others} more`]
}

/** Number of other routes listed, with or without a match: nearest first. */
const NEAREST = { chosen: 5, missed: 20 }

function lineText(line: TreeLine, paint: Paint): string {
  const indent = '  '.repeat(Math.min(line.depth, DEEPEST) + 1)
  if ('name' in line) return `${indent}  ${' '.repeat(TIME)}${paint.bold(visible(line.name))}`
  if ('note' in line) return `${indent}  ${' '.repeat(TIME)}${paint.dim(visible(line.note))}`
  const { event, label, text } = line.step
  const mark = event.severity === 'info' ? MARKS.info : paint[PAINTS[event.severity]](MARKS[event.severity])
  const time = pad(durationText(event.at), TIME - 1, 'right')
  const took = event.from === undefined ? '' : paint.dim(` (${durationText(event.at - event.from)})`)
  const places = event.origins.map(placeText).join(', ')
  const name = visible(label)
  const padding = ' '.repeat(Math.max(0, 16 - cellsOf(name)))
  return `${indent}${mark} ${paint.dim(time)} ${name}${padding} ${visible(text)}${took}${places === '' ? '' : paint.dim(`  ${visible(places)}`)}`
}

const TIME = 11
/** Gateways nest a few levels; a file may claim any number. */
const DEEPEST = 12
const PAINTS = { success: 'success', warn: 'warning', error: 'error' } as const

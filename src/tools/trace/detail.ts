import { fullPlaceText, placeText } from '../../diagnostics/diagnostic.ts'
import type { HeadSnapshot } from '../../trace/trace-event.ts'
import { type DiffLine, diffLines } from '../check/line-diff.ts'
import type { ReadEvent } from '../events/events.ts'
import type { RequestTrace, Step } from '../events/state.ts'
import { durationText, MARKS } from '../events/steps.ts'
import { cellsOf, cut, type Row, span, type Tone, wrap } from '../terminal/cells.ts'
import type { Browse } from './browse.ts'
import { eventText, headLines, TONES } from './event-text.ts'
import type { PartsReader } from './expression-parts.ts'

/** The lines of a configuration file. Undefined if it cannot be read here. */
export type SourceReader = (file: string) => readonly string[] | undefined

/** Sources for what is not in an event. */
export interface Lookups {
  readonly source: SourceReader
  readonly parts: PartsReader
}

export const BLIND: Lookups = { source: () => undefined, parts: () => [] }

export interface DetailContext {
  readonly browse: Pick<Browse, 'view' | 'wrap' | 'json' | 'hex'>
  readonly width: number
  readonly look: Lookups
}

/** The selected view of a step, as lines of at most `width` cells. */
export function detailOf(request: RequestTrace | undefined, step: Step | undefined, context: DetailContext): Row[] {
  if (request === undefined || step === undefined) return []
  // Wide enough to prevent wrapping; lines are cut when drawn.
  const width = context.browse.wrap ? context.width : UNWRAPPED
  switch (context.browse.view) {
    case 'event':
      return [...titleOf(request, step, width), ...eventView(request, step, context, width)]
    case 'state':
      return stateView(request, step, width)
    case 'diff':
      return diffView(request, step, width)
    case 'config':
      return configView(step, context.look.source, width)
    case 'cel':
      return celView(request, step, context.look.parts, width)
  }
}

const UNWRAPPED = 100_000

function titleOf(request: RequestTrace, { event, label, text }: Step, width: number): Row[] {
  const when =
    event.from === undefined
      ? `at ${durationText(event.at)}`
      : `${durationText(event.from)} to ${durationText(event.at)}, took ${durationText(event.at - event.from)}`
  const scope = event.scope.length === 0 ? '' : ` in ${event.scope.join(' › ')}`
  return [
    ...lines(`${MARKS[event.severity]} ${label}: ${text}`, width, TONES[event.severity]),
    ...lines(`request ${request.id}, event ${event.seq}, ${when}${scope}`, width, 'dim'),
    ...event.origins.flatMap(origin => lines(fullPlaceText(origin), width, 'info')),
  ]
}

function eventView(request: RequestTrace, step: Step, { browse, look }: DetailContext, width: number): Row[] {
  const { message } = step.event
  if (message.type === 'authorization' && !browse.json) {
    return decidingFirst(message).flatMap(rule => [
      ...lines(
        `${rule.matched ? 'matched' : 'no     '} ${rule.mode} ${rule.rule}${failure(rule)}`,
        width,
        rule.matched ? 'bold' : 'dim',
      ),
      ...partRows(
        look.parts(request, step, rule.rule, ({ value }) => (value === true) === rule.matched),
        width,
      ),
    ])
  }
  return eventText(step.event, browse, width)
}

type Authorization = Extract<ReadEvent['message'], { type: 'authorization' }>

function failure({ error }: Authorization['rules'][number]): string {
  return error === undefined ? '' : ` (cannot be evaluated: ${error})`
}

/** For a denied request, the deciding rules come first. */
function decidingFirst({ result, rules }: Authorization): Authorization['rules'] {
  const rank = ({ mode, matched }: Authorization['rules'][number]) => {
    if (mode === 'deny') return matched ? 0 : 3
    return matched ? 2 : 1
  }
  return result === 'deny' ? rules.toSorted((a, b) => rank(a) - rank(b)) : rules
}

function partRows(parts: readonly string[], width: number): Row[] {
  return parts.flatMap(part => lines(`        ${part}`, width, 'info'))
}

interface Stage {
  readonly stage: string
  readonly state: HeadSnapshot
}

/** The snapshots up to a step, latest last; those of the step's own policy follow directly after it. */
function stagesUntil({ steps }: RequestTrace, step: Step): readonly Stage[] {
  const at = steps.indexOf(step)
  const own = steps[at + 1]?.event.message
  const until = own?.type === 'snapshot' && own.stage === step.label ? at + 2 : at + 1
  return steps.slice(0, until).flatMap(({ event: { message } }) => (message.type === 'snapshot' ? [message] : []))
}

function stateView(request: RequestTrace, step: Step, width: number): Row[] {
  const stage = stagesUntil(request, step).at(-1)
  if (stage === undefined) return lines('The request had not been read yet.', width, 'dim')
  const [head = '', ...fields] = headLines(stage.state)
  return [
    ...lines(`as of: ${stage.stage}`, width, 'dim'),
    ...lines(head, width, 'bold'),
    ...fields.flatMap(field => lines(field, width)),
  ]
}

function diffView(request: RequestTrace, step: Step, width: number): Row[] {
  const stages = stagesUntil(request, step)
  const now = stages.at(-1)
  if (now === undefined) return lines('The request had not been read yet.', width, 'dim')
  const before = stages.at(-2)
  if (before === undefined) return lines('Nothing had been changed yet.', width, 'dim')
  if ((before.state.status === undefined) !== (now.state.status === undefined)) {
    return [
      ...lines(`${now.stage}: the first look at the response`, width, 'dim'),
      ...headLines(now.state).flatMap(text => lines(`+ ${text}`, width, 'success')),
    ]
  }
  const rows = diffLines(headLines(before.state), headLines(now.state)).flatMap(line => diffRow(line, width))
  return [...lines(`${before.stage} → ${now.stage}`, width, 'dim'), ...rows]
}

const SIDES = { both: [' ', 'plain'], left: ['-', 'error'], right: ['+', 'success'] } as const

export function diffRow({ side, text }: DiffLine, width: number): Row[] {
  const [mark, tone] = SIDES[side]
  return lines(`${mark} ${text}`, width, tone)
}

/** Lines shown around a location in the configuration. */
const AROUND = { before: 2, after: 8 }

function configView({ event }: Step, source: SourceReader, width: number): Row[] {
  if (event.origins.length === 0) return lines('No line of the configuration is behind this step.', width, 'dim')
  return event.origins.flatMap(origin => {
    const { file, line } = origin
    const title = lines(fullPlaceText(origin), width, 'info')
    if (line === 0) return [...title, ...lines('A resource of the cluster: kubectl get shows it.', width, 'dim')]
    const text = source(file)
    if (text === undefined) return [...title, ...lines('The file cannot be read from here.', width, 'dim')]
    const first = Math.max(1, line - AROUND.before)
    const gutter = String(line + AROUND.after).length
    return [
      ...title,
      ...text.slice(first - 1, line + AROUND.after).flatMap((content, i) => {
        const number = String(first + i).padStart(gutter)
        const [mark, tone] = first + i === line ? (['▸', 'bold'] as const) : ([' ', 'dim'] as const)
        // Continuation lines start beside the numbers, so that columns stay aligned.
        return wrap(content, Math.max(1, width - gutter - 5)).map((part, k) => {
          const margin = k === 0 ? `${mark} ${number}` : ' '.repeat(gutter + 2)
          return [span(cut(`${margin} │ ${part}`, width), tone)]
        })
      }),
    ]
  })
}

/** The expressions of the step's own policy first; those of others are named below. */
function celView(request: RequestTrace, step: Step, parts: PartsReader, width: number): Row[] {
  const { steps } = request
  const evaluated = steps.filter(({ event: { message } }) => message.type === 'cel' || message.type === 'authorization')
  const place = placeOf(step)
  const own = evaluated.filter(each => each === step || (place !== '' && placeOf(each) === place))
  const others = evaluated.filter(each => !own.includes(each))
  if (evaluated.length === 0) return lines('No expression was evaluated for this request.', width, 'dim')
  return [
    ...(own.length === 0 ? lines('No expression was evaluated in this step.', width, 'dim') : []),
    ...own.flatMap(each => [...celRows(each, width), ...partRows(partsIn(request, each, parts), width)]),
    ...(others.length === 0 ? [] : lines('Elsewhere in this request:', width, 'dim')),
    ...others.flatMap(each => celRows(each, width)),
  ]
}

function partsIn(request: RequestTrace, step: Step, parts: PartsReader): readonly string[] {
  const { message } = step.event
  if (message.type !== 'cel') return []
  const { result } = message
  return parts(request, step, message.expression, ({ value, error }) => {
    if (message.error !== undefined || error !== undefined) return message.error !== undefined && error !== undefined
    // Other results are not in the event.
    return typeof result !== 'boolean' || result === value
  })
}

function placeOf({ event: { origins } }: Step): string {
  return origins.map(fullPlaceText).join(' ')
}

function celRows({ event: { message, origins } }: Step, width: number): Row[] {
  const place = origins[0] === undefined ? '' : `  ${placeText(origins[0])}`
  if (message.type === 'authorization') {
    return [
      ...lines(`authorization: ${message.result}${place}`, width, message.result === 'deny' ? 'error' : 'success'),
      ...message.rules.flatMap(rule =>
        lines(
          `  ${rule.matched ? '✓' : '✗'} ${rule.mode} if ${rule.rule}${failure(rule)}`,
          width,
          rule.matched ? 'bold' : 'dim',
        ),
      ),
    ]
  }
  if (message.type !== 'cel') return []
  const failed = message.error !== undefined
  const result = message.error ?? (typeof message.result === 'string' ? message.result : JSON.stringify(message.result))
  return lines(`${message.expression}  →  ${result}${place}`, width, failed ? 'warn' : 'plain')
}

export function lines(text: string, width: number, tone: Tone = 'plain'): Row[] {
  return wrap(text, width).map(line => [span(cut(line, width), tone)])
}

/** Indexes of the rows that contain a text, case-insensitively. */
export function matchesIn(rows: readonly Row[], text: string): readonly number[] {
  if (text === '') return []
  const wanted = text.toLowerCase()
  return rows.flatMap((row, i) => (row.some(each => each.text.toLowerCase().includes(wanted)) ? [i] : []))
}

/** The row with matches highlighted. */
export function highlighted(row: Row, text: string): Row {
  if (text === '' || cellsOf(text) === 0) return row
  return row.flatMap(each => {
    const at = each.text.toLowerCase().indexOf(text.toLowerCase())
    if (at < 0) return [each]
    const end = at + text.length
    return [
      span(each.text.slice(0, at), each.tone),
      span(each.text.slice(at, end), 'cursor'),
      span(each.text.slice(end), each.tone),
    ]
  })
}

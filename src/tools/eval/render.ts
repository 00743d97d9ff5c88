import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { bar, frame } from '../../diagnostics/frame.ts'
import type { Paint } from '../../diagnostics/paint.ts'
import { remark, renderDiagnostic } from '../../diagnostics/render/text.ts'
import { createLines } from '../../diagnostics/source-text.ts'
import { visible } from '../../diagnostics/visible.ts'
import type { Evaluated, Evaluation, Refusal } from '../expressions/evaluate.ts'
import { hide, plain, valueText } from '../expressions/value-text.ts'
import { cellsOf } from '../terminal/cells.ts'

/** The name of an expression without a file. */
const NAME = 'expression'

/** As `validate` shows it in a file. */
export function refusalText(text: string, { code, problem }: Refusal, paint: Paint): string {
  const { message, label, help, span = [0, text.length] } = problem
  const diagnostic: Diagnostic = {
    code,
    severity: 'error',
    message,
    file: NAME,
    range: createLines(text).range(...span),
    path: '',
    related: [],
    ...(label === undefined ? {} : { label }),
    ...(help === undefined ? {} : { help }),
  }
  return renderDiagnostic(diagnostic, { textOf: () => text, cwd: '/' }, { paint })
}

/** The reason below the part that failed. */
export function failureText(text: string, failed: Evaluated, paint: Paint): string {
  const { error = '', span = [0, text.length], help } = failed
  const range = createLines(text).range(...span)
  const gutter = String(range.start.line).length
  const place = `${' '.repeat(gutter)}${paint.dim('-->')} ${NAME}:${range.start.line}:${range.start.col}`
  const marking = { gutter, width: 100, mark: '^', context: true } as const
  const lines = [bar(gutter, paint), ...frame(text, range, marking, paint)]
  const way = help === undefined ? [] : [bar(gutter, paint), remark('help', help, gutter, paint)]
  return `${[`${paint.error('error')}${paint.bold(`: ${visible(error)}`)}`, place, ...lines, ...way].join('\n')}\n`
}

interface EvaluationView {
  readonly format: 'text' | 'json'
  readonly steps: boolean
  /** Texts that must not be displayed. */
  readonly secrets: readonly string[]
}

/** The value, the type if nothing was evaluated, or the value of each part. Empty if there is none. */
export function renderEvaluation(evaluation: Evaluation, { format, steps, secrets }: EvaluationView): string {
  const { phase, whole } = evaluation
  if (format === 'json') {
    const parts = steps ? { steps: evaluation.steps.map(plainly) } : {}
    return `${hide(JSON.stringify({ phase, ...plainly(whole), ...parts }, null, 2), secrets)}\n`
  }
  if (steps) return stepsText(evaluation, secrets)
  if (whole.error !== undefined) return ''
  return `${'value' in whole ? valueText(whole.value, secrets) : whole.type}\n`
}

function plainly({ value, ...rest }: Evaluated) {
  return value === undefined ? rest : { ...rest, value: plain(value) }
}

/** Width of the expressions' column; the value of a longer one is below it. */
const WIDEST = 48

/** Each part with its value; the whole comes last. */
function stepsText({ steps, whole }: Evaluation, secrets: readonly string[]): string {
  const rows = [...steps, whole].map(each => ({ part: oneLine(each.expression), each }))
  const width = Math.max(...rows.map(({ part }) => cellsOf(part)).filter(cells => cells <= WIDEST), 0)
  const lines = rows.map(({ part, each }) => {
    const value = each.error === undefined ? valueText(each.value, secrets) : `no value: ${each.error}`
    const cells = cellsOf(part)
    return cells > width
      ? `${part}\n${' '.repeat(width)}  → ${value}`
      : `${part}${' '.repeat(width - cells)}  → ${value}`
  })
  return `${lines.join('\n')}\n`
}

function oneLine(text: string): string {
  return visible(text.replaceAll(/\s*\n\s*/g, ' '))
}

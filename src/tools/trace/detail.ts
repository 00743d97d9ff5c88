import { printYaml } from '../../diagnostics/print-yaml.ts'
import { cut, type Row, span, type Tone, wrap } from './cells.ts'
import type { ReadEvent } from './events.ts'
import type { RequestTrace, Step } from './state.ts'
import { durationText, MARKS } from './steps.ts'

/** Everything that an event says, as lines of at most `width` cells. */
export function detailOf(
  request: RequestTrace | undefined,
  step: Step | undefined,
  width: number,
  wrapped = true,
): Row[] {
  if (request === undefined || step === undefined) return []
  // Wide enough for nothing to be wrapped; whoever draws it cuts it.
  if (!wrapped) return detailOf(request, step, UNWRAPPED)
  const { event } = step
  const when =
    event.from === undefined
      ? `at ${durationText(event.at)}`
      : `${durationText(event.from)} to ${durationText(event.at)}, took ${durationText(event.at - event.from)}`
  const scope = event.scope.length === 0 ? '' : ` in ${event.scope.join(' › ')}`
  return [
    ...lines(`${MARKS[event.severity]} ${step.label}: ${step.text}`, width, TONES[event.severity]),
    ...lines(`request ${request.id}, event ${event.seq}, ${when}${scope}`, width, 'dim'),
    ...event.origins.flatMap(({ file, line, col }) => lines(`${file}:${line}:${col}`, width, 'info')),
    ...payload(event, width),
  ]
}

export const TONES: Readonly<Record<ReadEvent['severity'], Tone>> = {
  success: 'success',
  info: 'plain',
  warn: 'warn',
  error: 'error',
}

function payload({ message }: ReadEvent, width: number): Row[] {
  switch (message.type) {
    case 'snapshot': {
      const { method, url, status, headers } = message.state
      const head = status === undefined ? `${method ?? ''} ${url ?? ''}` : `${status}`
      return [...lines(head, width), ...headers.flatMap(([name, value]) => lines(`${name}: ${value}`, width))]
    }
    case 'route':
      return message.tried.flatMap(({ route, failed, origin }) => {
        const place = origin === undefined ? '' : `  ${origin.file}:${origin.line}`
        return lines(`not ${route}: ${failed}${place}`, width, 'dim')
      })
    case 'authorization':
      return message.rules.flatMap(({ rule, mode, matched }) =>
        lines(`${matched ? 'matched' : 'no    '} ${mode} ${rule}`, width, matched ? 'bold' : 'dim'),
      )
    case 'body':
      return lines(bodyText(message.base64), width)
    default: {
      const { type: _, ...fields } = message
      return lines(printYaml(fields).trimEnd(), width)
    }
  }
}

const UNWRAPPED = 100_000

/** JSON is set out in lines, other text stands as it is, and bytes are counted. */
function bodyText(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return `${bytes.length} bytes that are no text: ${bytes.subarray(0, 64).toString('hex')}`
  }
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function lines(text: string, width: number, tone: Tone = 'plain'): Row[] {
  return wrap(text, width).map(line => [span(cut(line, width), tone)])
}

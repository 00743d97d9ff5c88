import { placeText } from '../../diagnostics/diagnostic.ts'
import { printYaml } from '../../diagnostics/print-yaml.ts'
import type { HeadSnapshot } from '../../trace/trace-event.ts'
import { textOf } from '../events/body-text.ts'
import type { ReadEvent } from '../events/events.ts'
import { shortKey } from '../events/steps.ts'
import { cut, type Row, span, type Tone, wrap } from '../terminal/cells.ts'

export const TONES: Readonly<Record<ReadEvent['severity'], Tone>> = {
  success: 'success',
  info: 'plain',
  warn: 'warn',
  error: 'error',
}

export interface EventFormat {
  /** JSON instead of words and YAML. */
  readonly json: boolean
  /** Bodies as bytes instead of decoded. */
  readonly hex: boolean
}

/** The full content of an event, as lines of at most `width` cells. */
export function eventText({ message }: ReadEvent, { json, hex }: EventFormat, width: number): Row[] {
  if (message.type === 'body') return lines(bodyText(Buffer.from(message.base64, 'base64'), hex), width)
  if (json) return lines(JSON.stringify(message, null, 2), width)
  switch (message.type) {
    case 'snapshot':
      return headLines(message.state).flatMap(line => lines(line, width))
    case 'route':
      return [
        ...(message.selected === null ? [] : lines(message.selected, width)),
        ...message.tried.flatMap(({ route, failed, origin }) => {
          const place = origin === undefined ? '' : `  ${placeText(origin)}`
          return lines(`why not ${shortKey(route)}: ${failed}${place}`, width, 'dim')
        }),
        ...(message.more === undefined ? [] : lines(`and ${message.more} more`, width, 'dim')),
      ]
    default: {
      const { type: _, ...fields } = message
      return lines(printYaml(fields).trimEnd(), width)
    }
  }
}

/** The first line, then a line per header, and per fact about the caller. */
export function headLines({ method, url, status, headers, ...caller }: HeadSnapshot): string[] {
  const head = status === undefined ? `${method ?? ''} ${url ?? ''}`.trim() : `status ${status}`
  return [head, ...headers.map(([name, value]) => `${name}: ${value}`), ...callerLines(caller)]
}

/** As named in expressions: `jwt.sub = "alice"`. */
function callerLines({ jwt, apiKey, basicAuth }: Pick<HeadSnapshot, 'jwt' | 'apiKey' | 'basicAuth'>): string[] {
  return Object.entries({ jwt, apiKey, basicAuth }).flatMap(([variable, facts]) =>
    Object.entries(facts ?? {}).map(([name, value]) => `${variable}.${name} = ${JSON.stringify(value)}`),
  )
}

function bodyText(bytes: Buffer, hex: boolean): string {
  return hex ? hexDump(bytes) : textOf(bytes)
}

/** In the format of `hexdump -C`. */
function hexDump(bytes: Buffer): string {
  const rows: string[] = []
  for (let at = 0; at < bytes.length; at += 16) {
    const part = bytes.subarray(at, at + 16)
    const hex = [...part].map(byte => byte.toString(16).padStart(2, '0')).join(' ')
    const text = [...part].map(byte => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('')
    rows.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(47)}  ${text}`)
  }
  return rows.length === 0 ? 'no bytes' : rows.join('\n')
}

function lines(text: string, width: number, tone: Tone = 'plain'): Row[] {
  return wrap(text, width).map(line => [span(cut(line, width), tone)])
}

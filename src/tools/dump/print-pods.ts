import { printableJson } from '../../diagnostics/render/json.ts'
import type { Dump } from '../config-dump/read.ts'
import { print, usualFormat, type Wanted } from './print.ts'
import type { RenderOptions } from './render.ts'

export interface PodDump {
  /** `NAMESPACE/NAME`. */
  readonly pod: string
  readonly dump: Dump
}

/**
 * The output of `gwctl dump` for several pods: each dump under a heading, or a comment in formats that have them; in
 * JSON as `{pod, value}`. Throws a Failure.
 */
export function printPods(dumps: readonly PodDump[], wanted: Wanted, options: RenderOptions): string {
  const format = usualFormat(wanted)
  const texts = dumps.map(({ pod, dump }) => {
    const note = (text: string) => options.note(`pod ${pod}: ${text}`)
    return { pod, text: print(dump, `pod ${pod}`, wanted, { ...options, note }) }
  })
  switch (format) {
    case 'json':
      return `${printableJson(
        JSON.stringify(
          texts.map(({ pod, text }) => ({ pod, value: JSON.parse(text) as unknown })),
          null,
          2,
        ),
      )}\n`
    case 'jsonl':
      return texts.map(({ pod, text }) => text.replaceAll(/^.+$/gm, line => podLine(pod, line))).join('')
    case 'yaml':
      return texts.map(({ pod, text }) => `# pod ${pod}\n${text}`).join('---\n')
    case 'dot':
      return texts.map(({ pod, text }) => `// pod ${pod}\n${text}`).join('\n')
    default:
      return texts.map(({ pod, text }) => `${options.paint.bold(`pod ${pod}`)}\n${text}`).join('\n')
  }
}

/** Wraps a line that is JSON already. */
function podLine(pod: string, line: string): string {
  return `{"pod":${JSON.stringify(pod)},"value":${line}}`
}

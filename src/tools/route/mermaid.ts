import { visible } from '../../diagnostics/visible.ts'
import { MARKS, shortKey } from '../events/steps.ts'
import type { Explanation } from './explanation.ts'

/** The path of the request as a flowchart, for Markdown renderers with mermaid. */
export function explanationMermaid(explanation: Explanation): string {
  const { request, listener, routes, policies, backends, status, verdict, reason } = explanation
  const good = verdict === 'reached' || verdict === 'answered'
  const steps: Step[] = [
    { text: `${request.method} ${request.url}` },
    ...(listener === null ? [] : [named('listener', listener.name, listener.origin)]),
    ...routes.map(route => named('route', route.name, route.origin)),
    ...policies
      .filter(({ result }) => result !== 'in force' && result !== 'not reached')
      .map(({ policy, result, detail, origins }) => ({
        text: `${policy} ${result}${detail === undefined ? '' : `: ${detail}`}`,
        origin: origins[0],
        bad: result === 'failed',
      })),
    ...(explanation.calls.length === 0 ? [] : backends.map(({ name, kind, origin }) => named(kind, name, origin))),
    { text: `${status ?? 'no response'}${good ? '' : ` ${reason}`}`, bad: !good },
  ]
  const nodes = steps.map(({ text, origin, bad }, i) => {
    const lines = [text, ...(origin === undefined ? [] : [origin])].map(quoted)
    return `  s${i}["${lines.join('<br/>')}"]${bad ? ':::bad' : ''}`
  })
  const edges = steps.slice(1).map((_, i) => `  s${i} --> s${i + 1}`)
  return `flowchart TD\n${[...nodes, ...edges].join('\n')}\n  classDef bad stroke:#c00,stroke-width:3px\n`
}

interface Step {
  readonly text: string
  readonly origin?: string | undefined
  readonly bad?: boolean
}

function named(what: string, name: string | null, origin: string | undefined): Step {
  if (name === null) return { text: `${MARKS.error} no ${what} matches`, bad: true }
  return { text: `${what} ${shortKey(name)}`, origin }
}

/** Escaped for mermaid's quotes: entities, and no line breaks. */
function quoted(text: string): string {
  return visible(text.replaceAll(/\s+/g, ' ')).replaceAll(/[&"<>#;`]/g, char => `#${char.charCodeAt(0)};`)
}

import type { Paint } from '../../diagnostics/paint.ts'
import type { Run } from './explain-request.ts'
import type { Explanation } from './explanation.ts'

export const ROUTE_FORMATS = ['text', 'json', 'mermaid'] as const
export type RouteFormat = (typeof ROUTE_FORMATS)[number]

export interface RenderOptions {
  readonly paint: Paint
  readonly allRoutes: boolean
}

/** Each renderer loads only when it is asked for. */
export async function renderRoute(
  explanation: Explanation,
  _run: Run,
  format: RouteFormat,
  options: RenderOptions,
): Promise<string> {
  switch (format) {
    case 'text':
      return (await import('./text.ts')).explanationText(explanation, options)
    case 'json':
      return `${JSON.stringify(explanation, null, 2)}\n`
    case 'mermaid':
      return (await import('./mermaid.ts')).explanationMermaid(explanation)
  }
}

import type { Paint } from '../../diagnostics/paint.ts'
import { printableJson } from '../../diagnostics/render/json.ts'
import type { Run } from './explain-request.ts'
import type { Explanation } from './explanation.ts'
import type { TestCasePlace } from './test-case.ts'

export const ROUTE_FORMATS = ['text', 'json', 'test', 'mermaid'] as const
export type RouteFormat = (typeof ROUTE_FORMATS)[number]

export interface RenderOptions {
  readonly paint: Paint
  readonly allRoutes: boolean
  /** Terminal width. Undefined to leave lines unwrapped. */
  readonly width: number | undefined
  /** The location of a test case. */
  readonly place: TestCasePlace
}

/** Each renderer is loaded on demand. */
export async function renderRoute(
  explanation: Explanation,
  run: Run,
  format: RouteFormat,
  options: RenderOptions,
): Promise<string> {
  switch (format) {
    case 'text':
      return (await import('./text.ts')).explanationText(explanation, options)
    case 'json':
      return `${printableJson(JSON.stringify(explanation, null, 2))}\n`
    case 'test':
      return (await import('./test-case.ts')).testFileText(explanation, run, options.place)
    case 'mermaid':
      return (await import('./mermaid.ts')).explanationMermaid(explanation)
  }
}

import { expect, test } from 'vitest'
import { plainPaint } from '../../../src/diagnostics/paint.ts'
import { ExpositionReader } from '../../../src/tools/top/exposition.ts'
import { ratesOf } from '../../../src/tools/top/rates.ts'
import { topText } from '../../../src/tools/top/text.ts'
import { PlayedGateway, type Plot } from './played-gateway.ts'

function printed(plot: Plot, options: { readonly width?: number } = {}): string {
  const gateway = new PlayedGateway(plot, 0)
  const exposition = new ExpositionReader()
  const before = exposition.read(gateway.look(1))
  return topText(ratesOf(before, exposition.read(gateway.look(1)), 1), { paint: plainPaint, ...options })
}

test('prints every section that has data, with all columns', () => {
  const lines = printed('busy').split('\n')
  expect(lines[0]).toBe('60 requests/s, 0.4 failed/s, 17 in flight')
  expect(lines.filter(line => /^[A-Z]/.test(line)).map(line => line.split(/ {2,}/).join(' '))).toEqual([
    'ROUTE REQ/S 4XX/S 429/S 5XX/S P50 P90 P99 RETRY/S BYTES/S',
    'MODEL PROVIDER REQ/S ERR/S P50 P90 P99 TTFT TOK IN/S TOK OUT/S',
    'BUDGET COUNTS LEFT OF SET AT',
    'MCP TARGET ITEM METHOD REQ/S',
    'BACKEND REQ/S 4XX/S 429/S 5XX/S P50 P90 P99 RETRY/S BYTES/S',
  ])
})

test('prints a gateway without requests', () => {
  expect(printed('idle')).toBe('0 requests/s, 0 failed/s, 0 in flight\n\nno requests yet\n')
})

test('on a narrow terminal, columns are dropped before names are truncated', () => {
  const lines = printed('busy', { width: 60 }).split('\n')
  expect(lines[2]).toBe('ROUTE                  REQ/S   4XX/S   5XX/S     P50     P99')
  expect(lines.find(line => line.startsWith('default/chat'))).toMatch(/ 236ms +4\.6s$/)
  expect(Math.max(...lines.map(line => line.length))).toBeLessThanOrEqual(60)
  expect(lines.every(line => line === line.trimEnd())).toBe(true)
})

import { expect, test } from 'vitest'
import { plainPaint as paint } from '../../../src/diagnostics/paint.ts'
import { renderTable } from '../../../src/tools/terminal/text-table.ts'

const columns = ['ROUTE', 'LISTENER', 'HOSTS', 'MATCH', 'POLICIES', 'BACKENDS'].map(title => ({
  title,
  align: 'left' as const,
}))
const row = [
  'default/chat',
  'default/default/bind/16503/web',
  'api.example.com',
  'POST /v1/*',
  'cors jwtAuth',
  '漢字.test',
]

test.each([200, 80, 60, 40, 30])('each row fits on one line of a terminal with %i columns', width => {
  const lines = renderTable(columns, [row], { paint, width }).trimEnd().split('\n')
  expect(lines).toHaveLength(2)
  for (const line of lines) {
    const cells = [...line].reduce((sum, char) => sum + (char.charCodeAt(0) > 0x2e80 ? 2 : 1), 0)
    expect(cells).toBeLessThanOrEqual(width)
  }
  expect(lines[1]).toMatch(width < 150 ? /^de.*…/ : /^default\/chat .*漢字\.test$/)
})

test('keys are truncated at the start, headings at the end', () => {
  const keys = columns.map((column, i) => ({ ...column, keepsEnd: i < 2 }))
  const [head, line] = renderTable(keys, [row], { paint, width: 60 }).trimEnd().split('\n')
  expect(head).toMatch(/^ROUTE +LISTENER +/)
  expect(line).toMatch(/^…\S*chat +…\S*\/web +api\.exa…/)
  expect(renderTable(keys, [row], { paint, width: 30 })).toMatch(/^RO… /)
})

test('nothing is truncated without a terminal', () => {
  expect(renderTable(columns, [row], { paint })).toContain(row[1]!)
})

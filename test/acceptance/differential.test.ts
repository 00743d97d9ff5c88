import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readCases } from './differential/cases.ts'
import { differences, unexpected } from './differential/compare.ts'
import { startGwctl } from './differential/gwctl.ts'
import { play } from './differential/play.ts'
import type { Recording } from './differential/system.ts'

const cases = readCases()
const differing = readFileSync(new URL('../../docs/differences.md', import.meta.url), 'utf8')

/**
 * What the public system has answered, recorded by `npm run interop:differential`, and what gwctl answers to the same
 * requests with the same configuration: the same, but for the differences that a case lists.
 */
describe('matches the public system', () => {
  test.each(cases)('$id: $title', async each => {
    const theirs = JSON.parse(readFileSync(each.recording, 'utf8')) as Recording
    const found = differences(theirs, await play(each, startGwctl), each.json)
    expect(unexpected(found, each.differs ?? [])).toEqual({ surprises: [], stale: [] })
  })
})

test('every difference from the public system is explained', () => {
  const reasons = new Set(cases.flatMap(each => (each.differs ?? []).map(({ reason }) => reason)))
  expect([...reasons].filter(reason => !differing.includes(`<a id="${reason}"></a>`))).toEqual([])
})

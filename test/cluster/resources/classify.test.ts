import { expect, test } from 'vitest'
import { classify } from '../../../src/cluster/resources/classify.ts'
import { parseSource } from '../../../src/diagnostics/source.ts'

test.each([
  ['apiVersion: v1\nkind: Secret\n', 'resource'],
  ['kind: Secret\n', 'resource'],
  ['apiVersion: v1\n', 'resource'],
  ['binds: []\n', 'standalone'],
  ['llm: {}\nextra: 1\n', 'standalone'],
  ['routeGroups: []\n', 'standalone'],
  ['{}\n', 'standalone'],
  ['Pulled: x\n', 'foreign'],
  ['- kind: Secret\n', 'foreign'],
  ['text\n', 'foreign'],
  ['# nothing\n', 'nothing'],
  ['kind: [\n', 'nothing'],
])('%j is %s', (text, expected) => {
  expect(parseSource('a.yaml', text).documents.map(classify)).toEqual([expected])
})

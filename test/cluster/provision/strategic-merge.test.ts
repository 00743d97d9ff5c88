import { describe, expect, test } from 'vitest'
import { MERGE_KEYS, type PatchProblem, strategicMerge } from '../../../src/cluster/provision/strategic-merge.ts'
import type { Fields } from '../../../src/schema/untyped.ts'

function merge(original: Fields, patch: Fields) {
  const problems: PatchProblem[] = []
  const keys = MERGE_KEYS.Deployment!
  const result = strategicMerge(original, patch, { keys, problem: problem => problems.push(problem) })
  return { result, problems }
}

const containers = [
  { name: 'a', image: 'a:1', args: ['x'] },
  { name: 'b', image: 'b:1' },
]

// What `kubectl patch --type strategic` makes of the same objects.
test.each<[string, Fields, Fields, unknown]>([
  ['maps are merged', { a: { b: 1, c: 2 } }, { a: { c: 3, d: 4 } }, { a: { b: 1, c: 3, d: 4 } }],
  ['null deletes a key', { a: { b: 1 }, c: 1 }, { a: { b: null }, c: null }, { a: {} }],
  ['null in an added map is dropped', {}, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
  ['a list without a merge key is replaced', { args: ['a', 'b'] }, { args: ['c'] }, { args: ['c'] }],
  [
    'a list with a merge key is merged by it',
    { containers },
    { containers: [{ name: 'b', image: 'b:2' }] },
    { containers: [containers[0], { name: 'b', image: 'b:2' }] },
  ],
  [
    'new items come first',
    { containers },
    { containers: [{ name: 'c', image: 'c:1' }] },
    { containers: [{ name: 'c', image: 'c:1' }, ...containers] },
  ],
  [
    'items are merged deeply, lists in them replaced',
    { containers },
    { containers: [{ name: 'a', args: ['y'], env: [{ name: 'E', value: '1' }] }] },
    { containers: [{ name: 'a', image: 'a:1', args: ['y'], env: [{ name: 'E', value: '1' }] }, containers[1]] },
  ],
  [
    '$patch: delete in an item',
    { containers },
    { containers: [{ name: 'a', $patch: 'delete' }] },
    { containers: [containers[1]] },
  ],
  [
    '$patch: replace as an item',
    { containers },
    { containers: [{ $patch: 'replace' }, { name: 'c' }] },
    { containers: [{ name: 'c' }] },
  ],
  ['$patch: replace in a map', { a: { b: 1, c: 2 } }, { a: { $patch: 'replace', d: 3 } }, { a: { d: 3 } }],
  ['$patch: delete in a map', { a: { b: 1 } }, { a: { $patch: 'delete' } }, { a: {} }],
  [
    '$patch: delete of a missing item',
    { containers },
    { containers: [{ name: 'x', $patch: 'delete' }] },
    { containers },
  ],
  [
    '$setElementOrder',
    { containers },
    { '$setElementOrder/containers': [{ name: 'b' }, { name: 'c' }, { name: 'a' }], containers: [{ name: 'c' }] },
    { containers: [containers[1], { name: 'c' }, containers[0]] },
  ],
  [
    '$setElementOrder alone',
    { containers },
    { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }] },
    { containers: [containers[1], containers[0]] },
  ],
  [
    '$retainKeys',
    { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } },
    { strategy: { $retainKeys: ['type'], type: 'Recreate' } },
    { strategy: { type: 'Recreate' } },
  ],
  ['$deleteFromPrimitiveList', { f: ['a', 'b'] }, { '$deleteFromPrimitiveList/f': ['a'] }, { f: ['b'] }],
  [
    'volume mounts are merged by path',
    { volumeMounts: [{ name: 'v', mountPath: '/a' }] },
    { volumeMounts: [{ name: 'w', mountPath: '/a' }] },
    { volumeMounts: [{ name: 'w', mountPath: '/a' }] },
  ],
])('%s', (_, original, patch, expected) => {
  const before = structuredClone({ original, patch })
  expect(merge(original, patch)).toEqual({ result: expected, problems: [] })
  expect({ original, patch }).toEqual(before)
})

describe('patch problems are reported at their position', () => {
  test.each<[string, Fields, PatchProblem['code'], readonly (string | number)[]]>([
    ['an unknown directive', { a: { $patch: 'remove' } }, 'GW104', ['a', '$patch']],
    ['a list in place of a map', { a: [] }, 'GW101', ['a']],
    ['a map in place of a list', { containers: { name: 'a' } }, 'GW101', ['containers']],
    ['text in place of a map', { a: 'text' }, 'GW101', ['a']],
    ['an item without its key', { containers: [{ image: 'a' }] }, 'GW103', ['containers', 0]],
    ['an item that is not a map', { containers: ['a'] }, 'GW103', ['containers', 0]],
  ])('%s', (_, patch, code, path) => {
    const { problems } = merge({ a: { b: 1 }, containers }, patch)
    expect(problems.map(each => [each.code, each.path])).toEqual([[code, path]])
  })
})

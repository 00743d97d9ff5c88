import { expect, test } from 'vitest'
import { CONTROLLER } from '../../../../src/cluster/translate/cluster-view.ts'
import { mergeStatus } from '../../../../src/tools/serve/cluster/merge-status.ts'

const NOW = '2026-01-02T00:00:00Z'
const accepted = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' }
const ancestor = (name: string, controllerName: string = CONTROLLER) => ({
  ancestorRef: { kind: 'Gateway', name },
  controllerName,
  conditions: [accepted],
})

test('entries of others stay, and ours take the room that is left', () => {
  const theirs = Array.from({ length: 15 }, (_, i) => ancestor(`theirs-${i}`, 'example.com/other'))
  const merged = mergeStatus({ status: { ancestors: theirs } }, { ancestors: [ancestor('a'), ancestor('b')] }, 1, NOW)
  const names = (merged!.ancestors as typeof theirs).map(({ ancestorRef }) => ancestorRef.name)
  expect(names).toEqual([...theirs.map(({ ancestorRef }) => ancestorRef.name), 'a'])
})

test('a status that the object has already is not written, whatever others have added', () => {
  const wanted = { conditions: [accepted], listeners: [{ name: 'http', attachedRoutes: 1, conditions: [accepted] }] }
  const first = mergeStatus({}, wanted, 3, NOW) as typeof wanted
  expect(first.conditions[0]).toEqual({ ...accepted, observedGeneration: 3, lastTransitionTime: NOW })
  const theirs = { type: 'Seen', status: 'True', lastTransitionTime: NOW }
  const listeners = [{ ...first.listeners[0], conditions: [theirs, ...first.listeners[0]!.conditions] }]
  const raw = { status: { conditions: [...first.conditions, theirs], listeners } }
  expect(mergeStatus(raw, wanted, 3, '2026-02-02T00:00:00Z')).toBeUndefined()
  const next = mergeStatus(raw, wanted, 4, '2026-02-02T00:00:00Z') as typeof wanted
  expect(next.conditions).toEqual([{ ...accepted, observedGeneration: 4, lastTransitionTime: NOW }])
  expect(next.listeners[0]!.conditions).toHaveLength(1)
})

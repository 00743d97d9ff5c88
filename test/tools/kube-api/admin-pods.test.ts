import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { getReadiness } from '../../../src/tools/admin/admin-client.ts'
import { Waiting } from '../../../src/tools/admin/waiting.ts'
import { adminPod } from '../../../src/tools/kube-api/admin-pods.ts'
import { EDGE, KINDS, KubePlace, POD, pod } from '../../commands/kube-place.ts'
import { startKubeServer } from '../../helpers/kube-server.ts'
import { PausingClock } from '../../helpers/pausing-clock.ts'

let place: KubePlace
beforeEach(() => {
  place = new KubePlace()
})
afterEach(() => place[Symbol.asyncDispose]())

const ofEdge = { target: 'edge', port: 15_000 }

test('after a rollout the new pod is used', async () => {
  const items: object[] = [EDGE, POD]
  await using cluster = await place.cluster(items)
  const notes: string[] = []
  const server = await adminPod(ofEdge, place.shell(cluster), { note: text => notes.push(text) })
  expect(await getReadiness(server)).toMatchObject({ ready: true })
  expect(server.name).toBe('pod shop/edge-1')
  items.splice(1, 1, pod('edge-3'), pod('edge-2', { ready: false }))
  expect(await getReadiness(server)).toMatchObject({ ready: true })
  expect(server).toMatchObject({ name: 'pod shop/edge-3', pod: 'shop/edge-3' })
  expect(notes).toEqual(['Asking pod shop/edge-1 of Gateway shop/edge.'])
})

test('waits for a pending pod, up to the timeout', async () => {
  const items: object[] = [EDGE, pod('edge-1', { phase: 'Pending' })]
  await using cluster = await place.cluster(items)
  const clock = new PausingClock()
  const found = () =>
    adminPod({ ...ofEdge, waiting: new Waiting(1000, clock) }, place.shell(cluster), { note: () => {} })
  await expect(found()).rejects.toMatchObject({
    kind: 'timeout',
    message: 'the gateway is not ready after 1s: Gateway shop/edge has no running pod: edge-1 is Pending.',
  })
  clock.after(600, () => items.splice(1, 1, POD))
  const started = clock.now()
  expect((await found()).name).toBe('pod shop/edge-1')
  expect(clock.now() - started).toBe(600)
})

test('does not switch from an existing but unresponsive pod', async () => {
  await using cluster = await place.cluster([EDGE, POD, pod('edge-2')], { gone: ['edge-1'] })
  const server = await adminPod(ofEdge, place.shell(cluster), { note: () => {} })
  await expect(getReadiness(server)).rejects.toMatchObject({ kind: 'unreachable' })
  expect(server.name).toBe('pod shop/edge-1')
})

test('an explicitly named pod has no replacement', async () => {
  const items: object[] = [EDGE, POD, pod('edge-2')]
  await using cluster = await place.cluster(items)
  const server = await adminPod({ ...ofEdge, pod: 'edge-1' }, place.shell(cluster), { note: () => {} })
  items.splice(1, 1)
  await expect(getReadiness(server)).rejects.toThrow('pod shop/edge-1 is gone')
})

test('names the missing pod when none is left', async () => {
  const items: object[] = [EDGE, POD]
  await using cluster = await place.cluster(items)
  const server = await adminPod(ofEdge, place.shell(cluster), { note: () => {} })
  items.splice(1, 1)
  await expect(getReadiness(server)).rejects.toThrow('pod shop/edge-1 is gone')
})

test('expired credentials are refreshed', async () => {
  const options = { kinds: KINDS, items: [EDGE, POD], token: 'first', forwarding: { portOf: () => undefined } }
  await using cluster = await startKubeServer(options)
  const shell = place.shell(cluster, { tokenFile: 'token' })
  const token = join(place.folder, 'token')
  writeFileSync(token, 'first')
  const server = await adminPod(ofEdge, shell, { note: () => {} })
  options.token = 'second'
  await expect(getReadiness(server)).rejects.toThrow('(401)')
  writeFileSync(token, 'second')
  await expect(getReadiness(server)).rejects.toThrow('nothing answers on port 15000')
})

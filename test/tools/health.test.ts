import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Listening, listen } from '../../src/engine/admin/listen.ts'
import { startAdmin } from '../../src/engine/admin/server.ts'
import { text } from '../../src/engine/admin/table.ts'
import { adminServerAt } from '../../src/tools/admin/admin-client.ts'
import { Waiting } from '../../src/tools/admin/waiting.ts'
import { askHealth } from '../../src/tools/health.ts'
import { FakeGateway } from '../engine/admin/running-admin.ts'
import { PausingClock } from '../helpers/pausing-clock.ts'
import { startSilentServer } from '../helpers/silent-server.ts'

let gateway: FakeGateway
let admin: Listening
let clock: PausingClock

beforeEach(async () => {
  gateway = new FakeGateway()
  gateway.dumped = { binds: [], listeners: [], routes: [], policies: [], services: [], workloads: [], backends: [] }
  Object.assign(gateway.dumped, { version: { version: '1' }, config: {} })
  admin = await startAdmin('127.0.0.1:0', gateway)
  clock = new PausingClock()
})

afterEach(() => admin.close())

const ask = (address: string, wait: number) =>
  askHealth(adminServerAt(new URL(`http://${address}`)), new Waiting(wait, clock))

test('a ready gateway returns at once', async () => {
  const started = clock.now()
  expect(await ask(admin.address, 60_000)).toEqual({ ready: true, backends: [] })
  expect(clock.now()).toBe(started)
})

test('waits for a gateway only until it becomes ready', async () => {
  gateway.pending = ['workers']
  const started = clock.now()
  clock.after(1000, () => {
    gateway.pending = []
  })
  expect(await ask(admin.address, 60_000)).toEqual({ ready: true, backends: [] })
  expect(clock.now() - started).toBe(1000)
})

test('a gateway that never becomes ready reports what is pending', async () => {
  gateway.pending = ['workers']
  await expect(ask(admin.address, 1000)).rejects.toMatchObject({
    kind: 'timeout',
    message: 'the gateway is not ready after 1s: not ready, pending: workers.',
  })
})

test('an unreachable gateway reports the reason and a hint', async () => {
  const { address } = admin
  await admin.close()
  await expect(ask(address, 1000)).rejects.toMatchObject({
    kind: 'timeout',
    message: `the gateway is not ready after 1s: no gateway answers at http://${address}: connection refused.`,
    help: expect.stringContaining('--admin URL'),
  })
})

test('a different server reports its status at the timeout', async () => {
  const paths = [{ path: '/', methods: ['GET' as const], summary: '', handler: () => text('hello\n') }]
  const other = await listen({ kind: 'tcp', hosts: ['127.0.0.1'], port: 0 }, { paths })
  await expect(ask(other.address, 1000)).rejects.toMatchObject({
    kind: 'timeout',
    message: expect.stringContaining('answered 404'),
  })
  await other.close()
})

test.each([
  ['nothing', ''],
  ['half a head', 'HTTP/1.1 200 OK\r\n'],
])('a server that hangs after sending %s does not exceed the timeout', async (_, words) => {
  await using server = await startSilentServer(words)
  const outcome = ask(server.address, 1000).catch((error: unknown) => error)
  while (clock.pending === 0) await new Promise(setImmediate)
  clock.advance(1000)
  expect(await outcome).toMatchObject({
    kind: 'timeout',
    message: expect.stringContaining('does not answer within 1 s.'),
    help: undefined,
  })
})

import { expect, test } from 'vitest'
import type { Timer } from '../../../src/runtime/runtime.ts'
import { adminServerAt, getBytes } from '../../../src/tools/admin/admin-client.ts'
import { ManualClock } from '../../engine/manual-clock.ts'
import { startSilentServer } from '../../helpers/silent-server.ts'

class CountingClock extends ManualClock {
  timers = 0

  override after(ms: number, then: () => void): Timer {
    this.timers++
    return super.after(ms, then)
  }
}

const HALF = 'content-length: 9\r\n\r\nhalf'

test.each([
  ['nothing', '', 'timeout', 'ADDRESS does not answer within 5 s.'],
  ['half a body', `HTTP/1.1 200 OK\r\n${HALF}`, 'timeout', 'ADDRESS has stopped in the middle of its answer, for 5 s.'],
  ['half a refusal', `HTTP/1.1 429 Too Many Requests\r\n${HALF}`, 'unreachable', 'ADDRESS refuses: status 429.'],
])('a server that hangs after sending %s times out', async (_, words, kind, message) => {
  await using server = await startSilentServer(words)
  const url = `http://${server.address}`
  const clock = new CountingClock()
  let outcome: unknown
  getBytes(adminServerAt(new URL(url)), 'memory', { patience: { ms: 5000, clock } }).catch((error: unknown) => {
    outcome = error
  })
  // One for the head, one for what follows it.
  await expect.poll(() => clock.timers).toBeGreaterThanOrEqual(words === '' ? 1 : 2)
  while (outcome === undefined) {
    clock.advance(5000)
    await new Promise(setImmediate)
  }
  expect(outcome).toMatchObject({ kind, message: message.replace('ADDRESS', url) })
})

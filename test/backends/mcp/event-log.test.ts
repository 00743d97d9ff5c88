import { expect, test } from 'vitest'
import { EventLogs, eventNonce } from '../../../src/backends/mcp/eras/sessions/event-log.ts'
import { ManualClock } from '../../engine/manual-clock.ts'

test('an event ID resolves to its stream for any process nonce', () => {
  for (let i = 0; i < 500; i++) {
    const signing = () => ({ session: 's', key: Buffer.alloc(32) })
    const logs = new EventLogs({ clock: new ManualClock(), nonce: eventNonce(`process ${i}`), signing })
    const log = logs.begin({ request: 1, targets: new Map() }, false)
    const id = /^id: (.*)$/m.exec(log.frame(Buffer.from('{}'), false).toString())?.[1] ?? ''
    expect(logs.find(id), id).toEqual({ log, after: 1 })
    expect(logs.positionOf(id), id).toMatchObject({ request: 1 })
  }
})

import { expect, test } from 'vitest'
import { plainPaint } from '../../../src/diagnostics/paint.ts'
import { addEvents, EMPTY } from '../../../src/tools/events/state.ts'
import { requestText } from '../../../src/tools/trace/text.ts'
import { Recorder } from '../events/recorded-events.ts'

const show = (recorder: Recorder) => requestText(addEvents(EMPTY, recorder.events).requests[0]!, plainPaint)

test('prints a tree with times, config lines, skipped routes and nested steps', () => {
  const recorder = new Recorder()
  recorder.refused()
  expect(show(recorder)).toBe(`POST http://api.example.com/v1/chat  403 in 4.10 ms  r1, 10.1.2.3:51000, 12:30:45
  ·       0 µs request          POST http://api.example.com/v1/chat from 10.1.2.3:51000
  ·     200 µs listener         http on bind/3000  conf/gateway.yaml:3
  ✓     300 µs route            chat after 1 other  conf/gateway.yaml:30
                 not mcp: path prefix /mcp  conf/gateway.yaml:12
               extAuthz
                 attempt 1
      ·     400 µs call             auth:80 for extAuthz
      ✓    1.65 ms answer           auth:80: 200 (1.25 ms)
  ✗    2.00 ms authorization    deny: deny jwt.roles.exists(r, r == "contractor")  conf/gateway.yaml:52
  ✗    4.10 ms response         403, 21 bytes
`)
})

test('an incomplete request is marked with the number of missing events', () => {
  const recorder = new Recorder()
  recorder.start()
  recorder.add({ type: 'dropped', count: 3 })
  expect(show(recorder)).toContain('not finished')
  expect(show(recorder)).toContain('3 events are missing')
})

test('escapes control sequences sent by clients', () => {
  const recorder = new Recorder()
  recorder.start('r1\u001b[1m', '/\u001b[2J\u202e')
  recorder.add({ type: 'policy', policy: 'p\u0007', phase: 'x\ny', result: 'failed' }, { scope: ['s\u001bc'] })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that none gets through is the point
  expect(show(recorder)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
})

test('lists the backends not selected below the selected one', () => {
  const recorder = new Recorder()
  recorder.start()
  const others = [{ backend: 'small', reason: 'another name' }]
  recorder.add({ type: 'backend', backend: 'big', kind: 'model', reason: 'asked for as big', others })
  recorder.add({ type: 'authorization', result: 'deny', subject: 'tool admin of time', rules: [] })
  expect(show(recorder)).toContain(`backend          big (model): asked for as big
                 not small: another name
`)
  expect(show(recorder)).toContain('authorization    deny tool admin of time')
})

import { expect, test } from 'vitest'
import { SharedChannel } from '../../../src/backends/mcp/shared-channel.ts'
import { notificationOf, replyOf, requestOf } from '../../../src/mcp/message.ts'

test('a subscription ignores notifications addressed to others', () => {
  const channel = new SharedChannel({ pause() {}, resume() {} })
  const heard: string[] = []
  const events = (name: string) => ({
    flow: { full: false, onRoom: (then: () => void) => then() },
    message: ({ method }: { readonly method: string }) => heard.push(`${name} ${method}`),
    reply() {},
    fail() {},
  })
  const changed = (meta: object) => notificationOf('notifications/tools/list_changed', { _meta: meta })
  channel.add(requestOf('s', 'subscriptions/listen', {}), events('subscription'))
  channel.deliver(changed({}))
  channel.deliver(changed({ 'io.modelcontextprotocol/subscriptionId': 's' }))
  expect(heard).toEqual(['subscription notifications/tools/list_changed'])
  channel.add(requestOf(1, 'tools/call', {}), events('call'))
  channel.deliver(changed({}))
  expect(heard.at(-1)).toBe('call notifications/tools/list_changed')
})

test('an unread stream holds up only its own call', () => {
  const told: string[] = []
  const channel = new SharedChannel({ pause: () => told.push('paused'), resume: () => told.push('goes on') })
  const call = (name: string, flow: { full: boolean; onRoom(then: () => void): void }) => ({
    flow,
    message() {},
    reply: () => told.push(`${name} answered`),
    fail: ({ message }: { readonly message: string }) => told.push(`${name}: ${message}`),
  })
  let room = () => {}
  const unread = { full: true, onRoom: (then: () => void) => (room = then) }
  const progress = notificationOf('notifications/progress', { progressToken: 't', text: 'x'.repeat(5_000_000) })
  channel.add(requestOf(1, 'tools/call', { _meta: { progressToken: 't' } }), call('slow', unread))
  channel.deliver(progress)
  // It has the target for itself, and no more is read than it takes.
  expect(told).toEqual(['paused'])
  channel.add(requestOf(2, 'tools/call', {}), call('other', { full: false, onRoom() {} }))
  channel.deliver(progress)
  channel.deliver(replyOf(2, {}))
  expect(told.splice(0)).toEqual(['paused', 'goes on', 'other answered'])
  room()
  channel.add(requestOf(3, 'tools/call', {}), call('third', { full: false, onRoom() {} }))
  for (let i = 0; i < 4; i++) channel.deliver(progress)
  channel.deliver(replyOf(3, {}))
  expect(told).toEqual(['slow: the client does not read its stream', 'third answered'])
})

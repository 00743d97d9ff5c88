import { expect, test } from 'vitest'
import { SharedChannel } from '../../../src/backends/mcp/shared-channel.ts'
import { notificationOf, requestOf } from '../../../src/mcp/message.ts'

test('a subscription takes nothing that does not name it', () => {
  const channel = new SharedChannel()
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

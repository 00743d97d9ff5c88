import { isObject, type JsonObject, type Notification, notificationOf, type Request, requestOf } from './message.ts'

/** What a client has asked one target to remember. */
export interface Wishes {
  readonly level: unknown
  readonly subscribed: ReadonlySet<string>
}

/** Asks a target that was started anew for what its client had asked the one before. */
export function repeatedWishes({ level, subscribed }: Wishes, ownId: () => string): Request[] {
  return [
    ...(level === undefined ? [] : [requestOf(ownId(), 'logging/setLevel', { level })]),
    ...[...subscribed].map(uri => requestOf(ownId(), 'resources/subscribe', { uri })),
  ]
}

/** Tells the client that a target has forgotten it: whatever it has read there may be otherwise now. */
export function forgetting(target: string, capabilities: JsonObject, { subscribed }: Wishes): Notification[] {
  const changes = ['tools', 'prompts', 'resources'].flatMap(kind => {
    const offered = capabilities[kind]
    return isObject(offered) && offered.listChanged === true
      ? [notificationOf(`notifications/${kind}/list_changed`, {})]
      : []
  })
  const updates = [...subscribed].map(uri => notificationOf('notifications/resources/updated', { uri }))
  const data = `the target ${target} was started anew: what it kept of this session is lost`
  const message = notificationOf('notifications/message', { level: 'warning', logger: 'gwctl', data })
  return [...(isObject(capabilities.logging) ? [message] : []), ...changes, ...updates]
}

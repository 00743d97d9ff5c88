import { isObject, type JsonObject, type Notification, notificationOf, type Request, requestOf } from './message.ts'

/** The session state that a client has set on a target. */
export interface ClientState {
  readonly level: unknown
  readonly subscribed: ReadonlySet<string>
}

/** Requests that restore the client's session state on a restarted target. */
export function restoreRequests({ level, subscribed }: ClientState, ownId: () => string): Request[] {
  return [
    ...(level === undefined ? [] : [requestOf(ownId(), 'logging/setLevel', { level })]),
    ...[...subscribed].map(uri => requestOf(ownId(), 'resources/subscribe', { uri })),
  ]
}

/** Notifications that a target has lost the session: anything that the client read there may have changed. */
export function forgetting(target: string, capabilities: JsonObject, { subscribed }: ClientState): Notification[] {
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

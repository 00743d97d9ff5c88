// How a session of the Realtime API is asked for.

import { formFields } from '../../../http/form-fields.ts'
import type { HeaderList } from '../../../http/headers.ts'

/** The model that a client asks for in its path. */
export function askedModel(path: string): string | undefined {
  const query = path.indexOf('?')
  return (query < 0 ? null : formFields(path.slice(query)).get('model')) || undefined
}

/** The path with `model` in the query in place of what the client has asked for. */
export function withModel(path: string, model: string | undefined): string {
  if (model === undefined || askedModel(path) === model) return path
  const [bare = '', query = ''] = splitOnce(path)
  const kept = query.split('&').filter(pair => pair !== '' && new URLSearchParams(pair).get('model') === null)
  return `${bare}?${[`model=${encodeURIComponent(model)}`, ...kept].join('&')}`
}

function splitOnce(path: string): readonly string[] {
  const query = path.indexOf('?')
  return query < 0 ? [path] : [path.slice(0, query), path.slice(query + 1)]
}

const PROTOCOL = 'sec-websocket-protocol'

/**
 * For the provider: messages that are compressed could not be followed. Browsers put their key among the protocols, in
 * whose place another one may go.
 */
export function sessionHeaders(headers: HeaderList, authenticated: boolean): HeaderList {
  headers.delete('sec-websocket-extensions')
  const protocols = headers.get(PROTOCOL)
  if (protocols === undefined || !authenticated) return headers
  const kept = protocols.split(',').filter(each => !each.trim().startsWith('openai-insecure-api-key.'))
  if (kept.length > 0) headers.set(PROTOCOL, kept.join(',').trim())
  else headers.delete(PROTOCOL)
  return headers
}

// Requests that open a session of the Realtime API.

import { formFields } from '../../../http/form-fields.ts'
import type { HeaderList } from '../../../http/headers.ts'

/** The model that the client's path requests. */
export function askedModel(path: string): string | undefined {
  const query = path.indexOf('?')
  return (query < 0 ? null : formFields(path.slice(query)).get('model')) || undefined
}

/** The path with `model` in its query in place of the client's. */
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
 * Headers for the provider: compression is removed, since compressed messages could not be inspected. Browsers send
 * their key as a subprotocol, which is removed where another credential is used.
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

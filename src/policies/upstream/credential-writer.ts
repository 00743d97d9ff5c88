import type { Exchange } from '../../http/exchange.ts'
import type { Infer } from '../../schema/builder.ts'
import type { writeLocation } from '../parts/credential-location.ts'

export type WrittenLocation = Infer<typeof writeLocation>

export const BEARER: WrittenLocation = { header: { name: 'authorization', prefix: 'Bearer ' } }

/** Idempotent, since calls are retried. */
export function credentialWriter(location: WrittenLocation): (x: Exchange, credential: string) => void {
  if (location.header) {
    const name = location.header.name.toLowerCase()
    const prefix = location.header.prefix ?? ''
    return (x, credential) => x.request.headers.set(name, prefix + credential)
  }
  if (location.queryParameter) {
    const { name } = location.queryParameter
    return (x, credential) => {
      x.request.path = withParameter(x.request.path, name, credential)
    }
  }
  const { name } = location.cookie!
  return (x, credential) => setCookie(x, name, credential)
}

function withParameter(path: string, name: string, value: string): string {
  const mark = path.indexOf('?')
  const encoded = encodeURIComponent(name)
  const kept =
    mark < 0
      ? []
      : path
          .slice(mark + 1)
          .split('&')
          .filter(pair => pair !== '' && !isNamed(pair, name, encoded))
  return `${mark < 0 ? path : path.slice(0, mark)}?${[...kept, `${encoded}=${encodeURIComponent(value)}`].join('&')}`
}

function isNamed(pair: string, name: string, encoded: string): boolean {
  const end = pair.indexOf('=')
  const found = end < 0 ? pair : pair.slice(0, end)
  return found === name || found === encoded
}

function setCookie(x: Exchange, name: string, value: string): void {
  const kept = x.request.headers
    .getAll('cookie')
    .flatMap(field => field.split(';'))
    .map(pair => pair.trim())
    .filter(pair => pair !== '' && pair.split('=', 1)[0]!.trim() !== name)
  x.request.headers.set('cookie', [...kept, `${name}=${value}`].join('; '))
}

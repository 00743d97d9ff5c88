import { HeaderList } from '../http/headers.ts'
import { dropListed, fieldKind } from './upstream/hop-by-hop.ts'

/**
 * The fields that go on to a backend: without those that concern the client's own connection, and without `host`, which
 * travels as the authority.
 */
export function forwardedHeaders(headers: HeaderList): HeaderList {
  const raw = headers.raw
  const out: string[] = []
  let connection: string | undefined
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!
    const kind = fieldKind(name)
    if (kind === 'keep' || kind === 'content-length') {
      if (name.length === 2 && name.toLowerCase() === 'te' && raw[i + 1]!.trim().toLowerCase() !== 'trailers') continue
      out.push(name, raw[i + 1]!)
    } else if (kind === 'connection')
      connection = connection === undefined ? raw[i + 1]! : `${connection},${raw[i + 1]!}`
  }
  if (connection !== undefined) dropListed(out, connection)
  return new HeaderList(out, true)
}

import type { HeadSnapshots } from '../../engine/head-snapshot.ts'
import type { HeaderList } from '../../http/headers.ts'
import type { DryCall } from './outcome.ts'
import type { StubCall } from './stub-transport.ts'
import type { Answered } from './stubs.ts'

export function callOf(
  purpose: DryCall['purpose'],
  names: readonly string[],
  { target, method, path, authority, headers, body }: StubCall,
  { reply, stub }: Answered,
  heads: HeadSnapshots,
): DryCall {
  const scheme = target.tls ? 'https' : 'http'
  return {
    purpose,
    names,
    method,
    url: `${scheme}://${authority}${path}`,
    authority,
    path,
    headers: pairsOf(headers),
    shown: heads.request({ method, scheme, authority, path, headers }),
    body,
    stub,
    status: reply.unreachable ? undefined : reply.status,
  }
}

export function pairsOf({ raw }: HeaderList): (readonly [string, string])[] {
  const out: (readonly [string, string])[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) out.push([raw[i] as string, raw[i + 1] as string])
  return out
}

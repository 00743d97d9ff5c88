import { describe, expect, test } from 'vitest'
import { type CaseFile, type CaseRequest, readCases } from './differential/cases.ts'
import { differences } from './differential/compare.ts'
import { playDry } from './differential/dry-run.ts'
import { startGwctl } from './differential/gwctl.ts'
import { play } from './differential/play.ts'
import type { Answer } from './differential/system.ts'

/** What cannot be known without a network, and is assumed. */
const ASSUMED: ReadonlySet<string> = new Set([
  'protocols/dynamic/unknown name',
  // A client that speaks no TLS where TLS is expected: the dry run goes on as if it did.
  'protocols/tls/plain text',
  // The proxy on the way to a backend.
  'protocols/tunnel/via',
  'protocols/tunnel/no proxy',
  'protocols/tunnel/refused by the proxy',
])

const cases = readCases()
  .filter(({ expressions }) => expressions === undefined)
  .map(({ observe: _, ...each }) => ({ ...each, requests: each.requests.filter(request => isDry(request, each)) }))
  .filter(({ requests }) => requests.length > 0)

/** What the engine answers over sockets and what it sends to upstreams, beside what a dry run says of both. */
describe('a dry run gives the same replies as the engine', () => {
  test.each(cases)('$id: $title', async each => {
    const [{ replies }, dry] = [await play(each, startGwctl), await playDry(each)]
    expect(Object.keys(replies)).toEqual(Object.keys(dry))
    const shown = (all: Readonly<Record<string, Answer>>) => ({
      replies: Object.fromEntries(
        each.requests.map(request => [request.name, comparable(all[request.name]!, request)]),
      ),
    })
    expect(differences(shown(replies), shown(dry))).toEqual([])
  })
})

/** Not services over gRPC, whose stubs decide by a status; not the bytes of a connection, HTTP/2 of clients, or a switch of protocols; nor what stubs cannot do, such as frames of bytes. */
function isDry({ raw, http, upgraded, method = '', reply, name }: CaseRequest, { id, upstreams }: CaseFile): boolean {
  if (Object.values(upstreams ?? {}).includes('envoy')) return false
  const odd = [reply].flat().some(each => (each?.raw ?? each?.instead ?? each?.frames) !== undefined)
  // The client of these tests writes methods in capitals.
  const changed = method !== method.toUpperCase()
  return raw === undefined && http !== 2 && upgraded === undefined && !odd && !changed && !ASSUMED.has(`${id}/${name}`)
}

/** A dry run has no credentials to sign with. */
const SIGNATURE = /^(?:x-amz-(?:date|content-sha256)|authorization: AWS4-HMAC-SHA256)\b/i

/** Without what frames a body on one connection, the type that every stub has, the length of a stream, which none has, and the time. */
function comparable({ headers, body, upstream, ...answer }: Answer, { reply }: CaseRequest): Answer {
  const untyped = [reply].flat().some(each => each?.headers && !each.headers.some(line => /^content-type:/i.test(line)))
  const streams = headers.some(line => /^content-type: text\/event-stream/i.test(line))
  const kept = (line: string) =>
    !/^transfer-encoding:/i.test(line) &&
    !(untyped && /^content-type:/i.test(line)) &&
    !(streams && /^content-length:/i.test(line))
  return {
    ...answer,
    headers: headers.filter(kept),
    body: body.replace(/"(created|created_at)":\d{10}\b/g, '"$1":0'),
    ...(upstream && {
      upstream: upstream.map(call => ({
        ...call,
        line: call.line.replace(/ HTTP\/[\d.]+$/, ''),
        headers: call.headers
          .flatMap(line =>
            line.startsWith(':authority: ') ? `host: ${line.slice(12)}` : line.startsWith(':') ? [] : line,
          )
          .filter(line => !SIGNATURE.test(line))
          .map(line => line.replace(/^[^:]*/, name => name.toLowerCase())),
      })),
    }),
  }
}

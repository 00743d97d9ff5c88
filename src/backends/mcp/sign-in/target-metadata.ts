import { wholeReply } from '../../../calls/dispatch.ts'
import { asError } from '../../../calls/response-policies.ts'
import { authorityOf } from '../../../http/authority.ts'
import type { Exchange } from '../../../http/exchange.ts'
import type { HeaderList } from '../../../http/headers.ts'
import { handlerAround, type ResponseHandler } from '../../../http/transport.ts'
import { originOf, pathOf, placeOf, resourceDocument } from '../../../mcp/oauth-documents.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { placeOf as addressOf, callTarget, type HttpTarget } from '../upstream-call.ts'

/** Bytes of a document. */
const LONGEST = 256 * 1024
/** ms, unless the target has its own timeout. */
const TIMEOUT = 10_000
const NAMED = /(resource_metadata=")([^"]*)(")/

/**
 * OAuth of a single target that authenticates clients itself. Clients request its documents from the gateway, rewritten
 * to name the gateway as the resource, since clients reject metadata of any other resource (RFC 9728, 3.3).
 */
export class TargetMetadata {
  readonly #target: HttpTarget
  readonly #runtime: Runtime
  /** The document's location as announced by the target: not all use the well-known path. */
  #document: string | undefined

  constructor(target: HttpTarget, runtime: Runtime) {
    this.#target = target
    this.#runtime = runtime
  }

  /** False: the request is for something else. */
  serve(x: Exchange, on: ResponseHandler): boolean {
    const { method, path } = x.request
    const place = method === 'GET' ? placeOf(pathOf(path)) : undefined
    if (place?.kind !== 'resource' && place?.kind !== 'server') return false
    const own = resourceDocument('', place.endpoint === '' ? '' : this.#target.path)
    const asked = place.kind === 'server' ? path : (this.#document ?? own)
    const call = { method: 'GET', path: asked, body: undefined, session: undefined, version: undefined } as const
    wholeReply(this.#runtime.clock, this.#target.timeout ?? TIMEOUT, LONGEST, answer => ({
      cancel: callTarget(this.#runtime, this.#target, x, call, answer),
    })).then(
      ({ status, headers, body }) => {
        const resource = originOf(x) + place.endpoint
        const shown = place.kind === 'resource' && status === 200 ? withResource(body, resource) : body
        const fields = headers.copy()
        fields.set('content-length', String(shown.length))
        const sink = on.head(status, fields)
        if (shown.length > 0) sink.write(shown)
        sink.end()
      },
      (error: unknown) => on.fail(asError(error)),
    )
    return true
  }

  /** Points clients that the target refuses to the document here. */
  around(x: Exchange, on: ResponseHandler): ResponseHandler {
    return handlerAround(on, {
      head: (status, headers) => on.head(status, status === 401 || status === 403 ? this.#led(headers, x) : headers),
    })
  }

  #led(headers: HeaderList, x: Exchange): HeaderList {
    const challenge = headers.get('www-authenticate')
    const named = challenge && NAMED.exec(challenge)?.[2]
    if (!challenge || !named || !URL.canParse(named)) return headers
    const { origin, pathname, search } = new URL(named)
    if (origin !== originAt(this.#target)) return headers
    this.#document = pathname + search
    const here = resourceDocument(originOf(x), pathOf(x.received.path))
    const out = headers.copy()
    out.set(
      'www-authenticate',
      challenge.replace(NAMED, (_, before: string, __, after: string) => before + here + after),
    )
    return out
  }
}

function originAt(target: HttpTarget): string | undefined {
  const place = addressOf(target)
  return place instanceof Error ? undefined : new URL(`${place.tls ? 'https' : 'http'}://${authorityOf(place)}`).origin
}

/** Anything but such a document is left unchanged. */
function withResource(body: Buffer, resource: string): Buffer {
  try {
    const document: unknown = JSON.parse(body.toString('utf8'))
    if (typeof document !== 'object' || document === null || !('resource' in document)) return body
    return Buffer.from(JSON.stringify({ ...document, resource }))
  } catch {
    return body
  }
}

import { HeaderList } from '../../http/headers.ts'
import type { Transport } from '../../http/transport.ts'

/** What stands in for every service that is called. */
export interface StubReply {
  readonly status: number
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly body?: string
}

/** Answers each call at once and opens nothing. */
export function stubTransport(reply: () => StubReply): Transport {
  return {
    dispatch(_target, _request, on) {
      let cancelled = false
      queueMicrotask(() => {
        if (cancelled) return
        const { status, headers = [['content-type', 'application/json']], body = '{}' } = reply()
        const fields = new HeaderList()
        for (const [name, value] of headers) fields.append(name, value)
        const sink = on.head(status, fields)
        sink.write(Buffer.from(body))
        sink.end()
      })
      return {
        cancel: () => {
          cancelled = true
        },
      }
    },
    close: async () => {},
  }
}

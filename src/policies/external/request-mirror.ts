import { derivedFrom } from '../../calls/derived-exchange.ts'
import { type Callee, makeCall } from '../../calls/outcall.ts'
import { withDeadline } from '../../http/body-deadline.ts'
import { bodyOf, type Exchange } from '../../http/exchange.ts'
import { discard } from '../../http/transport.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { list, number, object, opt, req } from '../../schema/builder.ts'
import { definePolicy, type Hooks } from '../policy.ts'
import { TARGET_KINDS, targetFields } from '../upstream/policy-target.ts'

/** Copies in flight per policy; a slower service gets fewer of them. */
const MAX_IN_FLIGHT = 1024
/** ms until the head of the ignored response, and from there to its end. */
const TIMEOUT = 30_000
const MIRRORING = { purpose: { kind: 'Mirror', subtype: 'Http' }, what: 'mirror', timeout: TIMEOUT } as const

const mirrorFields = {
  backend: req(object('mirror target', targetFields, { exactlyOneOf: [TARGET_KINDS] }), 'Where copies go.'),
  percentage: req(number(0, 1), 'Share of the requests, 0 to 1.'),
}

export const requestMirror = definePolicy({
  name: 'requestMirror',
  doc: 'Sends a copy of some requests elsewhere, without the body, and ignores the response.',
  attach: ['route'],
  schema: object('request mirror', {
    ...mirrorFields,
    more: opt(list(object('further mirror', mirrorFields), { max: 15 }), 'Further copies, each with its own share.'),
  }),
  compile(spec, ctx): Hooks {
    const { random } = ctx.runtime
    const mirrors = [spec, ...(spec.more ?? [])].flatMap(({ backend, percentage }, i) => {
      const callee = ctx.callee?.(backend, i === 0 ? ['backend'] : ['more', i - 1, 'backend'])
      return callee ? { percentage, mirror: new Mirror(callee, ctx.runtime) } : []
    })
    if (mirrors.length === 0) return {}
    return {
      request(x) {
        for (const { percentage, mirror } of mirrors) if (percentage >= 1 || random() < percentage) mirror.send(x)
        return undefined
      },
    }
  },
})

class Mirror {
  readonly #callee: Callee
  readonly #runtime: Runtime
  #inFlight = 0

  constructor(callee: Callee, runtime: Runtime) {
    this.#callee = callee
    this.#runtime = runtime
  }

  /** Returns immediately; the outcome only appears in the trace. */
  send(x: Exchange): void {
    if (this.#inFlight >= MAX_IN_FLIGHT) return
    this.#inFlight++
    let over = false
    const ended = (): void => {
      if (!over) this.#inFlight--
      over = true
    }
    const call = makeCall(copyOf(x), this.#callee, MIRRORING, this.#runtime, {
      head: () => withDeadline({ ...discard, end: ended, fail: ended }, TIMEOUT, this.#runtime.clock, call),
      fail: ended,
    })
  }
}

/** The current head without a streamed body, which only the backend can read. */
function copyOf(x: Exchange): Exchange {
  const headers = x.request.headers.copy()
  const hopByHop = headers.getAll('connection').flatMap(field => field.split(','))
  for (const name of [...hopByHop, 'connection', 'content-length', 'te', 'expect']) headers.delete(name.trim())
  const request = { ...x.request, headers }
  return derivedFrom(x, { request, body: bodyOf(undefined), purpose: MIRRORING.purpose, scope: 'mirror' })
}

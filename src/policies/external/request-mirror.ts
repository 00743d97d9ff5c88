import { withDeadline } from '../../http/body-deadline.ts'
import { type Attempt, bodyOf, Exchange } from '../../http/exchange.ts'
import type { Runtime } from '../../http/runtime.ts'
import { discard, type ResponseHandler } from '../../http/transport.ts'
import { number, object, req } from '../../schema/builder.ts'
import { type Callee, definePolicy, type Hooks } from '../policy.ts'
import { TARGET_KINDS, targetFields } from '../upstream/policy-target.ts'

/** Copies under way per policy; a service that is slower than that gets fewer of them. */
const MAX_IN_FLIGHT = 1024
const PURPOSE = { kind: 'Mirror', subtype: 'Http' } as const
/** ms until the head of an answer that nobody reads, and from there to its end. */
const TIMEOUT = 30_000

export const requestMirror = definePolicy({
  name: 'requestMirror',
  doc: 'Sends a copy of some requests elsewhere, without the body, and ignores the answer.',
  attach: ['route'],
  schema: object('request mirror', {
    backend: req(object('mirror target', targetFields, { exactlyOneOf: [TARGET_KINDS] }), 'Where copies go.'),
    percentage: req(number(0, 1), 'Share of the requests, 0 to 1.'),
  }),
  compile({ backend, percentage }, ctx): Hooks {
    const callee = ctx.callee?.(backend, ['backend'])
    if (callee === undefined) return {}
    const { random } = ctx.runtime
    const mirror = new Mirror(callee, ctx.runtime)
    return {
      request(x) {
        if (percentage >= 1 || random() < percentage) mirror.send(x)
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

  /** Returns at once; what becomes of the copy concerns nobody. */
  send(x: Exchange): void {
    if (this.#inFlight >= MAX_IN_FLIGHT) return
    this.#inFlight++
    x.trace?.emit({ type: 'callStart', target: this.#callee.name, purpose: 'mirror' })
    const copy = copyOf(x)
    const attempt: Attempt = { index: 0, target: this.#callee.name, startedAt: x.startedMono, timeout: TIMEOUT }
    let over = false
    const ended = (): void => {
      if (!over) this.#inFlight--
      over = true
    }
    const { clock } = this.#runtime
    const started = clock.mono()
    const answered = (): void => this.#runtime.called?.(PURPOSE, clock.mono() - started)
    const on: ResponseHandler = {
      head() {
        answered()
        return withDeadline({ ...discard, end: ended, fail: ended }, TIMEOUT, clock, { cancel: () => copy.abort() })
      },
      fail() {
        answered()
        ended()
      },
    }
    this.#callee.send(copy, attempt, on).catch(ended)
  }
}

/** The head as it stands. A body goes to one reader only, and that is the backend. */
function copyOf(x: Exchange): Exchange {
  const headers = x.request.headers.copy()
  const hopByHop = headers.getAll('connection').flatMap(field => field.split(','))
  for (const name of [...hopByHop, 'connection', 'content-length', 'te', 'expect']) headers.delete(name.trim())
  const copy = new Exchange({
    id: x.id,
    connection: x.connection,
    startedAt: x.startedAt,
    startedMono: x.startedMono,
    httpVersion: x.httpVersion,
    request: { ...x.request, headers },
    body: bodyOf(undefined),
  })
  Object.assign(copy.auth, x.auth)
  return copy
}

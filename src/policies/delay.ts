// Holds a request back: fault injection (specification, Traffic policy building blocks, Delay).

import type { Exchange } from '../http/exchange.ts'
import type { Clock } from '../http/runtime.ts'
import { cel, object, req } from '../schema/builder.ts'
import { bodiesFor } from './parts/request-body.ts'
import { definePolicy } from './policy.ts'

/** ms; the longest wait that a timer of Node takes. */
const LONGEST = 2 ** 31 - 1

const schema = object('delay', {
  duration: req(
    cel('request', 'duration'),
    'A duration such as `2s`, or an expression that gives a duration or a number of milliseconds.',
    { spec: 'Traffic policy building blocks' },
  ),
})

export const delay = definePolicy({
  name: 'delay',
  doc: 'Holds the request back; the delay counts against the request timeout.',
  spec: 'Traffic policy building blocks',
  attach: ['route'],
  schema,
  compile({ duration }, { runtime: { clock }, limits }) {
    function delayRequest(x: Exchange): undefined | Promise<undefined> {
      const outcome = duration.evaluate(x)
      if (!outcome.ok || typeof outcome.value !== 'number' || !(outcome.value > 0)) return undefined
      return pause(Math.min(outcome.value, LONGEST), x, clock)
    }
    return { request: delayRequest, ...bodiesFor([duration], limits) }
  },
})

/** Ends early when the client leaves. */
function pause(ms: number, x: Exchange, clock: Clock): Promise<undefined> {
  return new Promise(resolve => {
    const timer = clock.after(ms, () => resolve(undefined), 'held')
    x.onAbort(() => {
      timer.cancel()
      resolve(undefined)
    })
  })
}

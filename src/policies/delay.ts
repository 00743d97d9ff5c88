// Delays requests: fault injection (specification, Traffic policy building blocks, Delay).

import type { Exchange } from '../http/exchange.ts'
import type { Clock } from '../runtime/runtime.ts'
import { cel, object, opt, req } from '../schema/builder.ts'
import { durationOrCel } from './parts/cluster-form.ts'
import { bodiesFor } from './parts/request-body.ts'
import { definePolicy } from './policy.ts'

/** ms; the limit of Node's timers. */
const MAX_DELAY = 2 ** 31 - 1

const schema = object('delay', {
  duration: req(
    cel('request', 'duration'),
    'A duration such as `2s`, or an expression that gives a duration or a number of milliseconds.',
    { spec: 'Traffic policy building blocks' },
  ),
})

const inCluster = object('delay', { duration: req(cel('request', 'duration'), 'How long the request waits.') })

export const delay = definePolicy({
  name: 'delay',
  doc: 'Holds the request back; the delay counts against the request timeout.',
  spec: 'Traffic policy building blocks',
  attach: ['route'],
  schema,
  cluster: [
    {
      section: 'traffic',
      member: 'delay',
      field: opt(inCluster, 'Delays requests, for fault injection.'),
      convert: part => ({ duration: durationOrCel(part.duration) }),
    },
  ],
  compile({ duration }, { runtime: { clock }, limits }) {
    function delayRequest(x: Exchange): undefined | Promise<undefined> {
      const outcome = duration.evaluate(x)
      if (!outcome.ok || typeof outcome.value !== 'number' || !(outcome.value > 0)) return undefined
      return pause(Math.min(outcome.value, MAX_DELAY), x, clock)
    }
    return { request: delayRequest, ...bodiesFor([duration], limits) }
  },
})

/** Ends early if the client disconnects. */
function pause(ms: number, x: Exchange, clock: Clock): Promise<undefined> {
  return new Promise(resolve => {
    const timer = clock.after(ms, () => resolve(undefined), 'held')
    x.onAbort(() => {
      timer.cancel()
      resolve(undefined)
    })
  })
}

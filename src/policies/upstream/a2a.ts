// Agents (A2A 0.3 and 1.0): their cards lead clients back to the gateway, and calls are told by method and task.
import type { BodyHook } from '../../calls/step.ts'
import type { Exchange } from '../../http/exchange.ts'
import { object } from '../../schema/builder.ts'
import { askForCard, cardBody, markCard } from '../parts/a2a/card.ts'
import { type A2aCall, callOf } from '../parts/a2a/methods.ts'
import { taskStates } from '../parts/a2a/task-states.ts'
import { definePolicy } from '../policy.ts'

/** bytes of a request that are looked at for its method. */
const BEGINNING = 16 * 1024

export const a2a = definePolicy({
  name: 'a2a',
  doc: 'The backend speaks A2A: the URLs of its agent cards are those of the gateway, and methods and task states are told.',
  attach: ['route', 'backend'],
  perBackend: true,
  schema: object('A2A settings', {}),
  compile(_spec, { limits }) {
    const cards = new WeakMap<Exchange, 'whole' | 'result'>()

    function begin(x: Exchange, call: A2aCall | undefined): undefined {
      const { method, card } = call ?? {}
      if (method === undefined) return undefined
      x.a2a = { method }
      x.trace?.emit({ type: 'a2a', method })
      if (card === undefined) return undefined
      cards.set(x, card)
      askForCard(x)
      return undefined
    }

    function request(x: Exchange): undefined | Promise<undefined> {
      const { method, path, headers } = x.request
      const type = headers.get('content-type')?.toLowerCase() ?? ''
      if (method !== 'POST' || !/^application\/([\w.+-]*\+)?json\b/.test(type)) {
        return begin(x, callOf(method, path, undefined))
      }
      return x.body.prefix(BEGINNING).then(({ bytes }) => begin(x, callOf(method, path, bytes.toString())))
    }

    function response(x: Exchange): void {
      if (cards.has(x) && x.response && isCard(x.response.status)) markCard(x)
    }

    function responseBody(x: Exchange): BodyHook | undefined {
      const card = cards.get(x)
      if (card === undefined || x.response?.status !== 200) return x.a2a && taskStates(x)
      return cardBody(x, card === 'result', limits.maxBuffer)
    }
    return { request, response, responseBody }
  },
})

/** A card, or that it is as it was. */
function isCard(status: number): boolean {
  return status === 200 || status === 304
}

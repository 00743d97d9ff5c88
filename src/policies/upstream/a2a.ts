// Agents (A2A 0.3 and 1.0): their cards point clients back to the gateway, and calls are recorded by method and task.
import type { BodyHook, BodyPassage } from '../../calls/step.ts'
import type { Exchange } from '../../http/exchange.ts'
import { object } from '../../schema/builder.ts'
import { askForCard, markCard } from '../parts/a2a/card-head.ts'
import { type A2aCall, callIn, callTo } from '../parts/a2a/methods.ts'
import { definePolicy } from '../policy.ts'

/** Bytes of a request that are searched for its method. */
const BEGINNING = 16 * 1024

export const a2a = definePolicy({
  name: 'a2a',
  doc: 'The backend speaks A2A: the URLs of its agent cards are those of the gateway, and methods and task states are recorded.',
  attach: ['route', 'backend'],
  perBackend: true,
  schema: object('A2A settings', {}),
  compile(_spec, { limits, serving }) {
    const calls = new WeakMap<Exchange, A2aCall>()
    const replies = serving(
      () => import('../parts/a2a/replies.ts'),
      module => module,
    )

    function begin(x: Exchange, call: A2aCall): undefined {
      const { method, card } = call
      calls.set(x, call)
      x.a2a = { method }
      x.trace?.emit({ type: 'a2a', method })
      if (card) askForCard(x)
    }

    function request(x: Exchange): undefined | Promise<undefined> {
      const { method, path, headers } = x.request
      const call = callTo(method, path)
      if (call) return begin(x, call)
      const type = headers.get('content-type')?.toLowerCase() ?? ''
      return method === 'POST' && /^application\/([\w.+-]*\+)?json\b/.test(type) ? read(x) : undefined
    }

    async function read(x: Exchange): Promise<undefined> {
      for (const length of [BEGINNING, limits.maxBuffer]) {
        const { bytes, whole } = await x.body.prefix(length)
        const call = callIn(bytes.toString())
        if (call) return begin(x, call)
        if (whole) return
      }
    }

    function response(x: Exchange): void {
      if (calls.get(x)?.card && x.response && isCard(x.response.status)) markCard(x, limits.maxBuffer)
    }

    function responseBody(x: Exchange): BodyHook | BodyPassage | undefined {
      const call = calls.get(x)
      if (!call) return undefined
      const { cardPassage, taskStates } = replies.part
      if (call.card && x.response?.status === 200) return cardPassage(x, call.binding, limits.maxBuffer)
      return taskStates(x, call)
    }
    return { request, response, responseBody }
  },
})

/** A card, or 304 for an unchanged one. */
function isCard(status: number): boolean {
  return status === 200 || status === 304
}

// An endpoint picker (Gateway API Inference Extension) sees each request over `ext_proc` and names its endpoints.
import { GatewayError } from '../../http/errors.ts'
import type { Exchange } from '../../http/exchange.ts'
import { def, object, oneOf, req } from '../../schema/builder.ts'
import { processedBy } from '../parts/ext-proc/processed-by.ts'
import { definePolicy } from '../policy.ts'
import { policyTarget } from './policy-target.ts'

/** Where the picker names its choice: `ip:port`, and after commas those to try if it cannot be reached. */
const DESTINATION = 'x-gateway-destination-endpoint'
/** More than a picker needs. */
const MAX_DESTINATIONS = 8

export const inferenceRouting = definePolicy({
  name: 'inferenceRouting',
  doc: 'An endpoint picker chooses the endpoint of each request.',
  attach: ['backend'],
  perBackend: true,
  schema: object('inference routing', {
    endpointPicker: req(policyTarget, 'The endpoint picker service, asked over `ext_proc`. Without it, requests fail.'),
    destinationMode: def(
      oneOf(['validated', 'passthrough']),
      'validated',
      '`validated`: only endpoints of the service; `passthrough`: any endpoint the picker names.',
    ),
  }),
  compile({ endpointPicker, destinationMode }, ctx) {
    const picked = new WeakMap<Exchange, readonly string[]>()
    const upstream = {
      picked: { destinations: (x: Exchange) => picked.get(x) ?? [], anywhere: destinationMode === 'passthrough' },
    }
    const callee = ctx.callee?.(endpointPicker, ['endpointPicker'])
    if (!callee) return { upstream }
    const { request, ...hooks } = processedBy({ callee, ...EVERYTHING }, false, ctx)
    return {
      ...hooks,
      upstream,
      async attempt(x) {
        // A client must not choose.
        x.request.headers.delete(DESTINATION)
        await request(x)
        const named = (x.request.headers.get(DESTINATION) ?? '').split(',').map(each => each.trim())
        const destinations = named.filter(each => each !== '').slice(0, MAX_DESTINATIONS)
        if (destinations.length === 0) throw new GatewayError('noHealthyBackend')
        picked.set(x, destinations)
        return undefined
      },
    }
  },
})

const EVERYTHING = {
  allowModeOverride: true,
  metadataContext: {},
  requestAttributes: {},
  responseAttributes: {},
  modes: {
    requestHeaders: true,
    responseHeaders: true,
    requestBody: 'fullDuplexStreamed',
    responseBody: 'fullDuplexStreamed',
    requestTrailers: true,
    responseTrailers: true,
  },
} as const

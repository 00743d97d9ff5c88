// Buffers bodies before they are forwarded (specification, Traffic policy building blocks, Buffer).

import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import { def, object, oneOf, opt } from '../schema/builder.ts'
import { byteQuantity } from '../schema/resource-scalars.ts'
import { byteSize } from '../schema/scalars.ts'
import { asFields } from '../schema/untyped.ts'
import { bytesOf, defined, lower, type Policies } from './parts/cluster-form.ts'
import { definePolicy, type Hooks } from './policy.ts'

const side = object('buffer side', {
  maxBytes: opt(byteSize, 'The largest body to buffer; unset: 2Mi.'),
  failureMode: def(
    oneOf(['failClosed', 'failOpen'], { FailClosed: 'failClosed', FailOpen: 'failOpen' }),
    'failClosed',
    'What happens to a larger body: `failClosed` refuses it, `failOpen` forwards it unbuffered.',
  ),
})

const schema = object('buffer', {
  request: opt(side, 'Request bodies; larger ones are answered with 413.'),
  response: opt(side, 'Response bodies; larger ones are answered with 502.'),
})

const NO_BODY = { type: '', text: '' }

const clusterSide = object('body buffer', {
  maxBytes: opt(byteQuantity, 'The largest body; the proxy’s own setting, 2Mi, when unset.'),
  failureMode: def(oneOf(['FailClosed', 'FailOpen']), 'FailClosed', 'What happens to a larger body.'),
})
const inCluster = object(
  'buffer',
  { request: opt(clusterSide, 'Request bodies.'), response: opt(clusterSide, 'Response bodies.') },
  { atLeastOneOf: [['request', 'response']] },
)

export const buffer = definePolicy({
  name: 'buffer',
  doc: 'Buffers bodies before forwarding them.',
  spec: 'Traffic policy building blocks',
  attach: ['route'],
  schema,
  cluster: [
    {
      section: 'traffic',
      member: 'buffer',
      field: opt(inCluster, 'Buffers bodies.'),
      convert: part => defined({ request: convertSide(part.request), response: convertSide(part.response) }),
    },
  ],
  probe: spec => ({ bodies: [bytesOf(asFields(asFields(spec)?.request)?.maxBytes ?? '2Mi') ?? 0] }),
  compile({ request, response }, { limits }) {
    const limit = request?.maxBytes ?? limits.maxBuffer
    function bufferRequest(x: Exchange): undefined | Promise<undefined> {
      const { bytes, length } = x.body
      if (bytes !== undefined) {
        if (bytes.length > limit) throw new GatewayError('bodyTooLarge', { body: NO_BODY })
        return undefined
      }
      if (length === 0 || x.request.headers.has('upgrade')) return undefined
      return x.body.buffer(limit).then(() => undefined, withoutBody)
    }
    /** If the body is too long, what was read is forwarded with the rest. */
    async function tryToBufferRequest(x: Exchange): Promise<undefined> {
      try {
        await bufferRequest(x)
      } catch (error) {
        if (!(error instanceof GatewayError) || error.code !== 'bodyTooLarge') throw error
      }
    }
    const hooks: Hooks = request
      ? { request: request.failureMode === 'failOpen' ? tryToBufferRequest : bufferRequest, holdsRequest: limit }
      : {}
    if (!response) return hooks
    return {
      ...hooks,
      buffersResponse: {
        limit: response.maxBytes ?? limits.maxBuffer,
        failOpen: response.failureMode === 'failOpen',
      },
    }
  },
})

/** The response to an oversized body is empty, as in the public system. */
function withoutBody(error: unknown): never {
  if (!(error instanceof GatewayError) || error.code !== 'bodyTooLarge') throw error
  throw new GatewayError('bodyTooLarge', { ...error.details, body: NO_BODY })
}

function convertSide(value: unknown): Policies | undefined {
  const part = asFields(value)
  if (!part) return undefined
  const max = part.maxBytes
  return defined({
    maxBytes: max === undefined ? undefined : (bytesOf(max) ?? max),
    failureMode: lower(part.failureMode ?? 'FailClosed'),
  })
}

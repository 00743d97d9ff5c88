import { GatewayError } from '../../../http/errors.ts'
import type { Exchange } from '../../../http/exchange.ts'

/** Which part of the request body is sent to the service. */
export interface BodyRules {
  readonly maxRequestBytes: number
  readonly allowPartialMessage: boolean
}

export function bodyRules({ maxRequestBytes, allowPartialMessage }: BodyRules): BodyRules {
  return { maxRequestBytes, allowPartialMessage }
}

export interface CheckBody {
  readonly bytes: Buffer
  /** The body continues beyond what the service sees. */
  readonly partial: boolean
}

const NONE: CheckBody = { bytes: Buffer.alloc(0), partial: false }

/** Throws GatewayError 413 for an oversized body unless the service accepts partial ones. */
export async function bodyForCheck(x: Exchange, rules: BodyRules): Promise<CheckBody> {
  if (x.upgrade !== undefined || x.request.method === 'CONNECT') return NONE
  const { maxRequestBytes: limit, allowPartialMessage } = rules
  if (allowPartialMessage) {
    const { bytes, whole } = await x.body.prefix(limit)
    return { bytes, partial: !whole }
  }
  try {
    return { bytes: await x.body.buffer(limit), partial: false }
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'bodyTooLarge') throw error
    throw new GatewayError('extAuthz', { status: 413, cause: error })
  }
}

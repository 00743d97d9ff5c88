import { headerValue } from './envoy.ts'
import { bytes, field, int32, type Message, message, repeated, type ToWrite, text, uint32, uint64 } from './message.ts'
import { duration } from './struct.ts'

// envoy.service.ratelimit.v3: `RateLimitService.ShouldRateLimit`.

export const SHOULD_RATE_LIMIT = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

const descriptor = message({
  entries: repeated(1, message({ key: field(1, text), value: field(2, text) })),
  limit: field(2, message({ requestsPerUnit: field(1, uint32), unit: field(2, int32) })),
  hitsAddend: field(3, message({ value: field(1, uint64) })),
})
export type DescriptorToWrite = ToWrite<typeof descriptor>

export const rateLimitRequest = message({
  domain: field(1, text),
  descriptors: repeated(2, descriptor),
})

const descriptorStatus = message({
  code: field(1, int32),
  currentLimit: field(2, message({ requestsPerUnit: field(1, uint32), unit: field(2, int32), name: field(3, text) })),
  limitRemaining: field(3, uint32),
  durationUntilReset: field(4, duration),
})
export const rateLimitResponse = message({
  overallCode: field(1, int32),
  statuses: repeated(2, descriptorStatus),
  responseHeadersToAdd: repeated(3, headerValue),
  requestHeadersToAdd: repeated(4, headerValue),
  rawBody: field(5, bytes),
})
export type RateLimitResponse = Message<typeof rateLimitResponse>

/** `RateLimitResponse.Code` */
export const RATE_LIMIT_CODE = { ok: 1, overLimit: 2 } as const

/** `envoy.type.v3.RateLimitUnit` */
export const RATE_LIMIT_UNITS: Readonly<Record<string, number>> = {
  second: 1,
  minute: 2,
  hour: 3,
  day: 4,
  month: 5,
  year: 6,
}

import { bool, bytes, field, int32, type Message, mapOf, message, repeated, text } from './message.ts'
import { struct } from './struct.ts'

// What Envoy's services share (envoy.config.core.v3, envoy.type.v3, google.rpc).

/** `google.rpc.Status`. */
export const rpcStatus = message({ code: field(1, int32), message: field(2, text) })

export const httpStatus = message({ code: field(1, int32) })

export const headerValue = message({ key: field(1, text), value: field(2, text), rawValue: field(3, bytes) })
export const headerMap = message({ headers: repeated(1, headerValue) })

export const headerValueOption = message({
  header: field(1, headerValue),
  /** `google.protobuf.BoolValue`, which older services set in place of `appendAction`. */
  append: field(2, message({ value: field(1, bool) })),
  appendAction: field(3, int32),
})
export type HeaderValueOption = Message<typeof headerValueOption>

/** `HeaderAppendAction` */
export const APPEND_ACTION = {
  appendIfExistsOrAdd: 0,
  addIfAbsent: 1,
  overwriteIfExistsOrAdd: 2,
  overwriteIfExists: 3,
} as const

/** `Metadata`: filter metadata by namespace. */
export const metadata = message({ filterMetadata: mapOf(1, struct) })

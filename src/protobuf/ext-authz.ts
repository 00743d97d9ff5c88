import { headerValueOption, httpStatus, metadata, rpcStatus } from './envoy.ts'
import { bytes, field, int64, type Message, mapOf, message, repeated, text, uint32 } from './message.ts'
import { struct, timestamp } from './struct.ts'

// envoy.service.auth.v3: `Authorization.Check`.

export const CHECK = '/envoy.service.auth.v3.Authorization/Check'

const socketAddress = message({ address: field(2, text), port: field(3, uint32) })
const peer = message({
  address: field(1, message({ socketAddress: field(1, socketAddress) })),
  principal: field(4, text),
  certificate: field(5, text),
})
const httpRequest = message({
  id: field(1, text),
  method: field(2, text),
  headers: mapOf(3, text),
  path: field(4, text),
  host: field(5, text),
  scheme: field(6, text),
  size: field(9, int64),
  protocol: field(10, text),
  body: field(11, text),
  rawBody: field(12, bytes),
})
const attributes = message({
  source: field(1, peer),
  destination: field(2, peer),
  request: field(4, message({ time: field(1, timestamp), http: field(2, httpRequest) })),
  contextExtensions: mapOf(10, text),
  metadataContext: field(11, metadata),
  tlsSession: field(12, message({ sni: field(1, text) })),
})
export const checkRequest = message({ attributes: field(1, attributes) })

const denied = message({ status: field(1, httpStatus), headers: repeated(2, headerValueOption), body: field(3, text) })
const queryParameter = message({ key: field(1, text), value: field(2, text) })
const ok = message({
  headers: repeated(2, headerValueOption),
  /** Where older services put what `CheckResponse` has now. */
  dynamicMetadata: field(3, struct),
  headersToRemove: repeated(5, text),
  responseHeadersToAdd: repeated(6, headerValueOption),
  queryParametersToSet: repeated(7, queryParameter),
  queryParametersToRemove: repeated(8, text),
})
export const checkResponse = message({
  status: field(1, rpcStatus),
  denied: field(2, denied),
  ok: field(3, ok),
  dynamicMetadata: field(4, struct),
})
export type CheckResponse = Message<typeof checkResponse>

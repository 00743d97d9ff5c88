import { headerMap, headerValueOption, httpStatus, metadata } from './envoy.ts'
import {
  bool,
  bytes,
  field,
  int32,
  type Message,
  mapOf,
  message,
  repeated,
  type ToWrite,
  text,
  uint32,
} from './message.ts'
import { struct } from './struct.ts'

// envoy.service.ext_proc.v3: `ExternalProcessor.Process`.

export const PROCESS = '/envoy.service.ext_proc.v3.ExternalProcessor/Process'

/** `ProcessingMode.BodySendMode`; `STREAMED` (1) is not among what the file can say. */
export const BODY_MODES = { none: 0, buffered: 2, bufferedPartial: 3, fullDuplexStreamed: 4 } as const
export type BodyMode = keyof typeof BODY_MODES

const headers = message({ headers: field(1, headerMap), endOfStream: field(3, bool) })
const body = message({ body: field(1, bytes), endOfStream: field(2, bool) })
const trailers = message({ trailers: field(1, headerMap) })
export const processingRequest = message({
  requestHeaders: field(2, headers),
  responseHeaders: field(3, headers),
  requestBody: field(4, body),
  responseBody: field(5, body),
  requestTrailers: field(6, trailers),
  responseTrailers: field(7, trailers),
  metadataContext: field(8, metadata),
  attributes: mapOf(9, struct),
  protocolConfig: field(11, message({ requestBodyMode: field(1, int32), responseBodyMode: field(2, int32) })),
})
export type ProcessingRequest = ToWrite<typeof processingRequest>
export type ProcessingAsked = Message<typeof processingRequest>

const headerMutation = message({ setHeaders: repeated(1, headerValueOption), removeHeaders: repeated(2, text) })
export type HeaderMutation = Message<typeof headerMutation>
const bodyMutation = message({
  body: field(1, bytes),
  clearBody: field(2, bool),
  streamedResponse: field(3, message({ body: field(1, bytes), endOfStream: field(2, bool) })),
})
const commonResponse = message({
  status: field(1, int32),
  headerMutation: field(2, headerMutation),
  bodyMutation: field(3, bodyMutation),
})
export type CommonResponse = Message<typeof commonResponse>
/** `CommonResponse.ResponseStatus` */
export const CONTINUE_AND_REPLACE = 1

const immediateResponse = message({
  status: field(1, httpStatus),
  headers: field(2, headerMutation),
  body: field(3, bytes),
  grpcStatus: field(4, message({ status: field(1, uint32) })),
})
export type ImmediateResponse = Message<typeof immediateResponse>
const trailersStage = message({ headerMutation: field(1, headerMutation) })
const stage = message({ response: field(1, commonResponse) })
const processingMode = message({
  requestHeaderMode: field(1, int32),
  responseHeaderMode: field(2, int32),
  requestBodyMode: field(3, int32),
  responseBodyMode: field(4, int32),
  requestTrailerMode: field(5, int32),
  responseTrailerMode: field(6, int32),
})
export type ProcessingMode = Message<typeof processingMode>

export const processingResponse = message({
  requestHeaders: field(1, stage),
  responseHeaders: field(2, stage),
  requestBody: field(3, stage),
  responseBody: field(4, stage),
  requestTrailers: field(5, trailersStage),
  responseTrailers: field(6, trailersStage),
  immediateResponse: field(7, immediateResponse),
  dynamicMetadata: field(8, struct),
  modeOverride: field(9, processingMode),
})
export type ProcessingResponse = Message<typeof processingResponse>
export type ProcessingAnswer = ToWrite<typeof processingResponse>

import type { Readable } from 'node:stream'
import { FrameReader, frame } from '../../calls/grpc-frames.ts'
import { HeaderList } from '../../http/headers.ts'
import type { ResponseHandler } from '../../http/transport.ts'
import {
  BODY_MODES,
  type ProcessingAnswer,
  type ProcessingAsked,
  processingRequest,
  processingResponse,
} from '../../protobuf/ext-proc.ts'
import type { StubReply } from './stub-transport.ts'

/** Bytes of one message: bodies in memory are smaller. */
const LONGEST = 64 * 1024 * 1024

/**
 * A processing service that changes only what `reply` defines. For 200, its headers are set on the request, and its
 * body, a JSON object, is exposed to expressions as `extproc`; any other status is the client's response.
 */
export function answerStream(reply: StubReply, sent: Readable, on: ResponseHandler): { cancel(): void } {
  const sink = on.head(200, new HeaderList(['content-type', 'application/grpc']))
  const frames = new FrameReader(LONGEST)
  let modes: ProcessingAsked['protocolConfig']
  sent.on('data', (chunk: Buffer) => {
    frames.push(chunk)
    for (let next = frames.next(); Buffer.isBuffer(next); next = frames.next()) {
      const asked = processingRequest.decode(next)
      modes ??= asked.protocolConfig
      sink.write(frame(processingResponse.encode(answerTo(asked, modes, reply))))
    }
  })
  sent.on('end', () => sink.end(['grpc-status', '0']))
  return { cancel: () => void sent.destroy() }
}

function answerTo(
  asked: ProcessingAsked,
  modes: ProcessingAsked['protocolConfig'],
  { status, headers = [], body }: StubReply,
): ProcessingAnswer {
  const setHeaders = headers.map(([key, value]) => ({ header: { key, rawValue: Buffer.from(value) } }))
  if (status !== 200) {
    return { immediateResponse: { status: { code: status }, headers: { setHeaders }, body: Buffer.from(body ?? '') } }
  }
  const { requestHeaders, responseHeaders, requestBody, responseBody } = asked
  if (requestHeaders) {
    const metadata = objectIn(body)
    return {
      requestHeaders: { response: { headerMutation: { setHeaders } } },
      ...(metadata ? { dynamicMetadata: metadata } : {}),
    }
  }
  if (responseHeaders) return { responseHeaders: {} }
  if (requestBody) return { requestBody: bodyAnswer(requestBody, modes?.requestBodyMode) }
  if (responseBody) return { responseBody: bodyAnswer(responseBody, modes?.responseBodyMode) }
  return { responseTrailers: {} }
}

function bodyAnswer(part: NonNullable<ProcessingAsked['requestBody']>, mode: number | undefined) {
  return mode === BODY_MODES.fullDuplexStreamed ? { response: { bodyMutation: { streamedResponse: part } } } : {}
}

/** The JSON object that a stub exposes to expressions, if any. */
export function objectIn(body: string | Buffer | undefined): Readonly<Record<string, never>> | undefined {
  try {
    const value: unknown = JSON.parse(String(body))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, never>>)
      : undefined
  } catch {
    return undefined
  }
}

import type { Duplex } from 'node:stream'
import { asError, openBody, passResponse, runLists } from '../calls/response-policies.ts'
import type { PolicyStep } from '../calls/step.ts'
import type { WeightedBackend } from '../config/snapshot.ts'
import { GatewayError } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import type { ChunkSink } from '../http/transport.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Downstream } from './downstream.ts'
import type { HeadSnapshots } from './head-snapshot.ts'
import type { Passage } from './passage.ts'
import { mergeQueued } from './respond.ts'
import { traceFinalResponse } from './trace/stages.ts'

/** The context of one call to a backend. */
export interface Call {
  readonly x: Exchange
  readonly chosen: WeightedBackend
  readonly passage: Passage
  readonly out: Downstream
  readonly heads: HeadSnapshots
  readonly runtime: Runtime
}

/** Notified when an attempt becomes the response, or fails to. */
export interface Settling {
  settle(outcome: 'answered' | Error): void
}

/** Commits to this attempt's response: response policies, then the head, then the body. */
export function commitResponse(call: Call, status: number, headers: HeaderList, attempt: Settling): ChunkSink {
  const { x, chosen, passage } = call
  x.response = { status, headers }
  const whole = chosen.buffersResponse ?? passage.listener?.buffersResponse
  return passResponse(x, responseLists(call), whole && { ...whole, runtime: call.runtime }, {
    open: () => open(call),
    settle: error => attempt.settle(error ?? 'answered'),
  })
}

/** Forwards a protocol switch after response policies have processed its head; then bytes pass both ways. */
export function commitUpgrade(
  call: Call,
  status: number,
  headers: HeaderList,
  socket: Duplex,
  attempt: Settling,
): void {
  const { x, out, heads } = call
  x.response = { status, headers }
  const join = () => {
    if (x.aborted) return fail(new GatewayError('upgradeFailed'))
    mergeQueued(headers, x)
    if (x.trace) traceFinalResponse(x, { status, headers }, heads)
    attempt.settle('answered')
    out.upgrade(status, headers.raw, socket)
  }
  const fail = (error: unknown) => {
    socket.destroy()
    attempt.settle(asError(error))
  }
  try {
    const waiting = runLists(x, responseLists(call))
    if (waiting) waiting.then(join, fail)
    else join()
  } catch (error) {
    fail(error)
  }
}

function responseLists({ chosen, passage: { listener } }: Call): readonly (readonly PolicyStep[])[] {
  return listener ? [chosen.response, listener.response] : [chosen.response]
}

function open({ x, chosen, passage, out, heads, runtime }: Call): ChunkSink {
  const response = x.response!
  x.answeredMono = runtime.clock.mono()
  mergeQueued(response.headers, x)
  // RFC 9110 section 8.6: not even a length of 0.
  if (response.status === 204) response.headers.delete('content-length')
  // A policy rewrote the client's method to HEAD: the length is that of a body that will not be sent.
  if (x.request.method === 'HEAD' && x.received.method !== 'HEAD') response.headers.delete('content-length')
  const ofListener = passage.listener?.responseBody ?? []
  const steps = ofListener.length > 0 ? [...chosen.responseBody, ...ofListener] : chosen.responseBody
  if (x.trace) traceFinalResponse(x, response, heads)
  return openBody(x, steps, () => out.start(response.status, response.headers.raw))
}

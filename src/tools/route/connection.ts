import type { Bind, Listener } from '../../config/snapshot.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { place } from './trace-reading.ts'

/** Throws a Failure where connections are passed through, so that there is no request to explain. */
export function checkHttp(bind: Bind, listener: Listener | undefined): void {
  const passed =
    bind.protocol === 'tcp' ||
    bind.protocol === 'udp' ||
    listener?.passthrough === true ||
    (listener?.tcpRoutes.length ?? 0) > 0
  if (!passed) return
  throw new Failure('input', `port ${bind.port} forwards connections unchanged, without parsing requests.`, {
    help: `${place((listener ?? bind).origin)} says so. gwctl dump routes shows where they go.`,
  })
}

import { GatewayError } from '../../http/errors.ts'
import { HeaderList } from '../../http/headers.ts'
import type { ResponseHandler, Target } from '../../http/transport.ts'
import { Dialer, type Dialing } from './dial.ts'
import { connectFailure, connectTimedOut } from './failure.ts'

/**
 * Connects and hands the raw connection to the client that requested it (CONNECT, RFC 9110 9.3.6). If the target uses
 * TLS, the client's data is encrypted on the way.
 */
export function openTunnel(target: Target, dialing: Dialing, on: ResponseHandler): { cancel(): void } {
  if (on.upgrade === undefined) {
    on.fail(new GatewayError('upgradeFailed', { detail: 'tunnels are not supported here' }))
    return { cancel() {} }
  }
  let settled = false
  const settle = (report: () => void): void => {
    if (settled) return
    settled = true
    limit.cancel()
    report()
  }
  const limit = dialing.clock.after(target.connectTimeout, () => {
    settle(() => on.fail(connectTimedOut()))
    socket?.destroy()
  })
  const dialer = new Dialer(target, target.tls?.alpn ?? [], dialing, true)
  let socket: ReturnType<Dialer['open']> | undefined
  try {
    socket = dialer.open()
  } catch (error) {
    settle(() => on.fail(connectFailure(error)))
    return { cancel() {} }
  }
  const opened = socket
  opened.once(dialer.secure ? 'secureConnect' : 'connect', () =>
    settle(() => on.upgrade?.(200, new HeaderList([], true), opened)),
  )
  opened.on('error', error => settle(() => on.fail(connectFailure(error))))
  return {
    cancel: () => settle(() => opened.destroy()),
  }
}

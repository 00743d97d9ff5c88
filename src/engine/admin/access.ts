import type { IncomingMessage } from 'node:http'
import { ipVersion } from '../../http/ip-version.ts'

/**
 * Why a request may not access the admin server; undefined if it may. A page in a browser on this machine can reach it:
 * a foreign page identifies itself in Origin or Sec-Fetch-Site, and a name rebound to our address (DNS rebinding) is
 * not one of ours. What remains are tools and pages that this server sent.
 */
export function refusal(request: IncomingMessage): string | undefined {
  const { host, origin } = request.headers
  const site = request.headers['sec-fetch-site']
  // Browsers cannot open a Unix socket, and its clients may send any Host.
  if (request.socket.localAddress === undefined) return undefined
  if (host === undefined || !isOwnName(host)) {
    return `the admin server does not answer to the name ${host ?? '(none)'}: call it by its IP address or as localhost`
  }
  if (origin !== undefined && origin !== `http://${host}`) return 'requests from other origins are refused'
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return 'requests from other sites are refused'
  return undefined
}

/** An IP address or localhost, with or without a port: a name that no DNS server can have rebound to us. */
function isOwnName(host: string): boolean {
  const name = host.replace(/:\d+$/, '').toLowerCase()
  return name === 'localhost' || ipVersion(name.replace(/^\[(.*)\]$/, '$1')) !== 0
}

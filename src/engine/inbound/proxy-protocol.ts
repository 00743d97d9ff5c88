import { ipVersion } from '../../http/ip-version.ts'
import type { ProxyProtocolSettings } from '../../policies/policy.ts'
import type { Look } from './prelude.ts'

export interface ProxiedAddresses {
  readonly source: { readonly address: string; readonly port: number }
  readonly destination: { readonly address: string; readonly port: number }
}
/** `none`: the connection's own addresses apply. `refused`: it must not be served. */
export type ProxyHeader = ProxiedAddresses | 'none' | { readonly refused: string }

const V1 = Buffer.from('PROXY ', 'latin1')
const V1_LIMIT = 107
const V2 = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const V2_HEAD = 16

/** Parses the header of HAProxy's PROXY protocol, according to the settings in force. */
export function proxyHeaderReader(settings: ProxyProtocolSettings): (bytes: Buffer) => Look<ProxyHeader> {
  return bytes => {
    const v2 = startsWith(bytes, V2)
    if (v2 === 'yes' && settings.v2) return readV2(bytes)
    const v1 = startsWith(bytes, V1)
    if (v1 === 'yes' && settings.v1) return readV1(bytes)
    if (v1 === 'perhaps' || v2 === 'perhaps') return 'more'
    if (settings.optional) return { value: 'none', consumed: 0 }
    const found = v1 === 'yes' ? 'version 1 is not accepted' : v2 === 'yes' ? 'version 2 is not accepted' : undefined
    return refused(found ?? 'the PROXY header is missing')
  }
}

function readV1(bytes: Buffer): Look<ProxyHeader> {
  const end = bytes.indexOf('\r\n')
  if (end < 0) return bytes.length < V1_LIMIT ? 'more' : refused('the PROXY header is incomplete')
  if (end + 2 > V1_LIMIT) return refused('the PROXY header is too long')
  const [, family, source, destination, from, to, ...rest] = bytes.toString('latin1', 0, end).split(' ')
  const consumed = end + 2
  if (family === 'UNKNOWN') return { value: 'none', consumed }
  const version = family === 'TCP4' ? 4 : family === 'TCP6' ? 6 : 0
  const sourcePort = portOf(from)
  const destinationPort = portOf(to)
  if (
    version === 0 ||
    rest.length > 0 ||
    ipVersion(source ?? '') !== version ||
    ipVersion(destination ?? '') !== version ||
    sourcePort === undefined ||
    destinationPort === undefined
  )
    return refused('the PROXY header is malformed')
  return {
    value: {
      source: { address: source!, port: sourcePort },
      destination: { address: destination!, port: destinationPort },
    },
    consumed,
  }
}

function readV2(bytes: Buffer): Look<ProxyHeader> {
  if (bytes.length < V2_HEAD) return 'more'
  const version = bytes[12]! >> 4
  const command = bytes[12]! & 15
  const length = bytes.readUInt16BE(14)
  if (version !== 2 || command > 1) return refused('the PROXY header is malformed')
  if (bytes.length < V2_HEAD + length) return 'more'
  const consumed = V2_HEAD + length
  const family = bytes[13]! >> 4
  // A health check of the balancer itself (LOCAL), or not an IP address: the connection's own addresses apply.
  if (command === 0 || (family !== 1 && family !== 2)) return { value: 'none', consumed }
  const size = family === 1 ? 4 : 16
  if (length < 2 * size + 4) return refused('the PROXY header is too short')
  const address = (at: number): string => (family === 1 ? bytes.subarray(at, at + 4).join('.') : ipv6(bytes, at))
  const ports = V2_HEAD + 2 * size
  return {
    value: {
      source: { address: address(V2_HEAD), port: bytes.readUInt16BE(ports) },
      destination: { address: address(V2_HEAD + size), port: bytes.readUInt16BE(ports + 2) },
    },
    consumed,
  }
}

function ipv6(bytes: Buffer, at: number): string {
  const groups: string[] = []
  for (let i = 0; i < 16; i += 2) groups.push(bytes.readUInt16BE(at + i).toString(16))
  // The URL parser produces the canonical short form.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

function refused(reason: string): Look<ProxyHeader> {
  return { value: { refused: reason }, consumed: 0 }
}

function startsWith(bytes: Buffer, prefix: Buffer): 'yes' | 'no' | 'perhaps' {
  const length = Math.min(bytes.length, prefix.length)
  if (bytes.compare(prefix, 0, length, 0, length) !== 0) return 'no'
  return length === prefix.length ? 'yes' : 'perhaps'
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,5}$/.test(text)) return undefined
  const port = Number(text)
  return port <= 65535 ? port : undefined
}

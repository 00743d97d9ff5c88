import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { altNames, spiffeIdOf } from '../../http/alt-names.ts'
import type { ConnectionFacts } from '../../http/exchange.ts'
import type { ProxiedAddresses } from './proxy-protocol.ts'

/** A client connection, from accept to close. */
export interface Connection {
  facts: ConnectionFacts
  /** It accepts no more requests and ends once those in flight are done. */
  retired: boolean
  /** Ends it when it is idle; unset until its protocol is known. */
  retire: (() => void) | undefined
}

export function openConnection(socket: Socket, id: number): Connection {
  const facts = {
    id,
    address: plainAddress(socket.remoteAddress ?? ''),
    port: socket.remotePort ?? 0,
    localAddress: plainAddress(socket.localAddress ?? ''),
    localPort: socket.localPort ?? 0,
  }
  return { facts, retired: false, retire: undefined }
}

/** The addresses from a trusted load balancer's PROXY header. */
export function withProxied(facts: ConnectionFacts, { source, destination }: ProxiedAddresses): ConnectionFacts {
  return {
    ...facts,
    address: plainAddress(source.address),
    port: source.port,
    localAddress: plainAddress(destination.address),
    localPort: destination.port,
    peer: { address: facts.address, port: facts.port },
  }
}

export function withTls(facts: ConnectionFacts, socket: TLSSocket, serverName: string | undefined): ConnectionFacts {
  // An unverified certificate does not identify the client.
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined
  const identity = spiffeIdOf(altNames(certificate?.subjectAltName ?? ''))
  return {
    ...facts,
    tls: {
      sni: serverName,
      protocol: socket.getProtocol() ?? '',
      ...(certificate ? { certificate: certificate.raw } : {}),
      ...(identity ? { identity } : {}),
    },
  }
}

/** A dual-stack port reports IPv4 clients by their mapped address. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address
}

import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { altNames, spiffeIdOf } from '../../http/alt-names.ts'
import type { ConnectionFacts } from '../../http/exchange.ts'
import type { ProxiedAddresses } from './proxy-protocol.ts'

/** One connection of a client, from accept to close. */
export interface Connection {
  facts: ConnectionFacts
  /** It takes no more requests: what is in progress is finished, then it ends. */
  retired: boolean
  /** How whoever serves it ends it when nothing is in progress any more; unset until it is known who serves it. */
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

/** The addresses that a trusted load balancer vouches for. */
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
  // One that did not have to be proved says nothing about who the client is.
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

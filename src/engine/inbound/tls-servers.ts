import type { Socket } from 'node:net'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import type { TlsFiles } from '../../config/snapshot.ts'

/** Who hears what became of a handshake. */
export interface Handshake {
  secured(socket: TLSSocket): void
  failed(reason: string): void
}

/**
 * Ends TLS on sockets that somebody else has accepted. Each set of certificates has a server of its own, never shared:
 * a session that was resumed under another listener would carry over what that one had checked.
 */
export class TlsServers {
  readonly #servers = new WeakMap<TlsFiles, Server>()
  /** Handshakes in progress, by the client's end of the connection. */
  readonly #pending = new Map<string, Handshake>()

  /** `limit`: ms for the handshake. */
  accept(socket: Socket, files: TlsFiles, limit: number, handshake: Handshake): void {
    let server = this.#servers.get(files)
    if (!server) {
      server = this.#create(files, limit)
      this.#servers.set(files, server)
    }
    const key = keyOf(socket)
    this.#pending.set(key, handshake)
    socket.once('close', () => {
      if (this.#pending.get(key) === handshake) this.#pending.delete(key)
    })
    server.emit('connection', socket)
  }

  #create(files: TlsFiles, limit: number): Server {
    const server = createServer({
      cert: files.cert,
      key: files.key,
      ...(files.ca ? { ca: files.ca, requestCert: true, rejectUnauthorized: true } : {}),
      minVersion: files.minVersion ?? 'TLSv1.2',
      ...(files.maxVersion ? { maxVersion: files.maxVersion } : {}),
      ...(files.ciphers ? { ciphers: files.ciphers.join(':') } : {}),
      ...(files.groups ? { ecdhCurve: files.groups.join(':') } : {}),
      ...(files.alpn ? { ALPNProtocols: [...files.alpn] } : {}),
      handshakeTimeout: limit,
    })
    server.on('secureConnection', socket => {
      socket.on('error', () => {})
      const handshake = this.#take(socket)
      if (handshake) handshake.secured(socket)
      else socket.destroy()
    })
    server.on('tlsClientError', (error, socket) => {
      // What OpenSSL says, without the place in its sources.
      this.#take(socket)?.failed((error as { reason?: string }).reason ?? error.message.trim())
      socket.destroy()
    })
    return server
  }

  #take(socket: Socket): Handshake | undefined {
    const key = keyOf(socket)
    const handshake = this.#pending.get(key)
    this.#pending.delete(key)
    return handshake
  }
}

/** The port of this end is the same for all. */
function keyOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress}`
}

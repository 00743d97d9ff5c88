import { createHash, hkdfSync } from 'node:crypto'
import type { Socket } from 'node:net'
import { createServer, type Server, type TLSSocket, type TlsOptions } from 'node:tls'
import type { TlsFiles } from '../../config/snapshot.ts'
import type { Clock, Timer } from '../../runtime/runtime.ts'
import { plainServerName } from './client-hello.ts'
import { IssuedContexts } from './issued-contexts.ts'

/** Receives the outcome of a handshake. */
export interface Handshake {
  secured(socket: TLSSocket): void
  failed(reason: string): void
}

interface Pending {
  readonly handshake: Handshake
  readonly timer: Timer
}

/**
 * Terminates TLS on sockets accepted elsewhere. Each set of certificates has its own server: a session resumed under
 * another listener would carry over that listener's verification.
 */
export class TlsServers {
  readonly #servers = new WeakMap<TlsFiles, Server>()
  /** Handshakes in progress, keyed by the client's address and port. */
  readonly #pending = new Map<string, Pending>()
  readonly #secret: Uint8Array
  readonly #clock: Clock

  /** `secret`: of this run, shared by all workers. */
  constructor(secret: Uint8Array, clock: Clock) {
    this.#secret = secret
    this.#clock = clock
  }

  /** `limit`: ms for the handshake. */
  accept(socket: Socket, files: TlsFiles, limit: number, handshake: Handshake): void {
    let server = this.#servers.get(files)
    if (!server) {
      server = this.#create(files)
      this.#servers.set(files, server)
    }
    const key = keyOf(socket)
    const timer = this.#clock.after(limit, () => {
      this.#take(socket)?.failed('it did not end in time')
      socket.destroy()
    })
    const pending = { handshake, timer }
    this.#pending.set(key, pending)
    socket.once('close', () => {
      timer.cancel()
      if (this.#pending.get(key) === pending) this.#pending.delete(key)
    })
    server.emit('connection', socket)
  }

  #create(files: TlsFiles): Server {
    const server = createServer({
      ...(files.issues ? { SNICallback: issuing(files, this.#clock) } : { cert: files.cert, key: files.key }),
      ...(files.ca ? { ca: files.ca, requestCert: true, rejectUnauthorized: !files.caOptional } : {}),
      minVersion: files.minVersion ?? 'TLSv1.2',
      ...(files.maxVersion ? { maxVersion: files.maxVersion } : {}),
      ...(files.ciphers ? { ciphers: files.ciphers.join(':') } : {}),
      ...(files.groups ? { ecdhCurve: files.groups.join(':') } : {}),
      ...(files.alpn ? { ALPNProtocols: [...files.alpn] } : {}),
      ticketKeys: ticketKeys(this.#secret, files),
      // Our own clock applies.
      handshakeTimeout: 0,
    })
    server.on('secureConnection', socket => {
      socket.on('error', () => {})
      const handshake = this.#take(socket)
      if (handshake) handshake.secured(socket)
      else socket.destroy()
    })
    server.on('tlsClientError', (error, socket) => {
      this.#take(socket)?.failed(reasonOf(error, files.issues === true && !socket.servername))
      socket.destroy()
    })
    return server
  }

  #take(socket: Socket): Handshake | undefined {
    const key = keyOf(socket)
    const pending = this.#pending.get(key)
    this.#pending.delete(key)
    pending?.timer.cancel()
    return pending?.handshake
  }
}

function reasonOf(error: Error, unnamed: boolean): string {
  if (unnamed) return 'the client sent no server name to issue a certificate for'
  // OpenSSL's reason without its source location.
  return (error as { reason?: string }).reason ?? error.message.trim()
}

function issuing(files: TlsFiles, clock: Clock): NonNullable<TlsOptions['SNICallback']> {
  const contexts = new IssuedContexts(files, clock)
  return (serverName, done) => {
    const name = plainServerName(serverName)
    if (name === null) done(new Error('the server name is not a host name'))
    else done(null, contexts.contextFor(name))
  }
}

/**
 * Sessions resume under another worker or after a reload only with the same certificates and rules: everything that
 * affects a handshake is part of the keys.
 */
function ticketKeys(secret: Uint8Array, files: TlsFiles): Buffer {
  const hash = createHash('sha256')
  for (const [name, value] of Object.entries(files)) hash.update(`${name}:${JSON.stringify(value)};`)
  return Buffer.from(hkdfSync('sha256', secret, '', hash.digest(), TICKET_KEYS))
}

/** Bytes, as `node:tls` requires. */
const TICKET_KEYS = 48

/** The local port is the same for all. */
function keyOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress}`
}

import net from 'node:net'
import tls from 'node:tls'
import { altNames } from '../../http/alt-names.ts'
import { ipVersion } from '../../http/ip-version.ts'
import { KEEP_ALIVE, type Target } from '../../http/transport.ts'
import type { Clock } from '../../runtime/runtime.ts'
import { checkLiteral, type Resolver } from './dns.ts'
import { TunnelSocket } from './tunnel-socket.ts'

/** Dependencies of dialing. */
export interface Dialing {
  readonly clock: Clock
  readonly resolver: Resolver
  /** Called for each established connection, with its duration in ms. */
  readonly connected?: ((transport: 'plaintext' | 'tls', duration: number) => void) | undefined
}

/** Opens connections to one target. Its options are resolved once. */
export class Dialer {
  readonly #address: net.NetConnectOpts
  readonly #secure: tls.ConnectionOptions | undefined
  readonly #target: Target
  readonly #dialing: Dialing
  /** The proxy that connections go through. */
  #proxy: { readonly target: Target; readonly dialer: Dialer } | undefined
  /** The TLS session to resume. */
  #session: Buffer | undefined

  /** `halfOpen`: sockets stay open when the server ends its side. Throws if certificates or key are invalid. */
  constructor(target: Target, alpn: readonly string[], dialing: Dialing, halfOpen = false) {
    this.#target = target
    this.#dialing = dialing
    const common = { noDelay: true, allowHalfOpen: halfOpen }
    this.#address =
      target.unixPath === undefined
        ? { host: target.host, port: target.port, lookup: dialing.resolver.lookupFor(target), ...common }
        : { path: target.unixPath, ...common }
    this.#secure = target.tls === undefined ? undefined : tlsOptions(target, alpn)
  }

  get secure(): boolean {
    return this.#secure !== undefined
  }

  /** Its sockets cannot read into the caller's memory: they are ordinary streams. */
  get streams(): boolean {
    return this.#target.tunnel !== undefined
  }

  /**
   * The socket is usable after `secureConnect` or `connect`. Through a tunnel it is a stream with a socket's events.
   * Throws GatewayError for a destination that is not permitted.
   */
  open(onread?: net.OnReadOpts): net.Socket {
    const { clock, connected } = this.#dialing
    const socket = this.#open(onread)
    if (connected !== undefined) {
      const started = clock.mono()
      const [ready, transport] = this.secure ? (['secureConnect', 'tls'] as const) : (['connect', 'plaintext'] as const)
      socket.once(ready, () => connected(transport, clock.mono() - started))
    }
    return socket
  }

  #open(onread: net.OnReadOpts | undefined): net.Socket {
    checkLiteral(this.#target)
    const tunnel = this.#tunnel()
    if (this.#secure === undefined) {
      if (tunnel) return tunnel as unknown as net.Socket
      return this.#probed(net.connect(onread === undefined ? this.#address : { ...this.#address, onread }))
    }
    const socket = tls.connect({
      ...(tunnel ? { socket: tunnel } : this.#address),
      ...this.#secure,
      ...(this.#session === undefined ? {} : { session: this.#session }),
      ...(onread === undefined ? {} : { onread }),
    } as tls.ConnectionOptions)
    socket.on('session', session => {
      this.#session = session
    })
    if (tunnel === undefined) return this.#probed(socket)
    tunnel.on('error', error => socket.destroy(error))
    return socket
  }

  /** Before it is connected, a socket ignores these options. */
  #probed(socket: net.Socket): net.Socket {
    const { keepAlive = KEEP_ALIVE } = this.#target
    if (keepAlive === false) return socket
    const { time, interval, retries } = keepAlive
    return socket.once('connect', () => socket.setKeepAlive(true, time, interval, retries))
  }

  #tunnel(): TunnelSocket | undefined {
    const { tunnel } = this.#target
    if (tunnel === undefined) return undefined
    const target = tunnel.proxy()
    if (this.#proxy?.target !== target) {
      this.#proxy = { target, dialer: new Dialer(target, ['http/1.1'], this.#dialing) }
    }
    const { dialer } = this.#proxy
    const ready = dialer.secure ? 'secureConnect' : 'connect'
    return new TunnelSocket(dialer.open(), ready, this.#target, tunnel.fields())
  }
}

function tlsOptions(target: Target, alpn: readonly string[]): tls.ConnectionOptions {
  const { servername, ca, cert, key, insecureSkipVerify, subjectAltNames, groups } = target.tls ?? {}
  const name = servername ?? (target.unixPath === undefined ? target.host : 'localhost')
  return {
    secureContext: tls.createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(groups === undefined ? {} : { ecdhCurve: groups.join(':') }),
    }),
    // An address is not a server name: RFC 6066 section 3.
    servername: ipVersion(name) === 0 ? name : '',
    ALPNProtocols: [...alpn],
    rejectUnauthorized: insecureSkipVerify !== 'All',
    checkServerIdentity:
      insecureSkipVerify === undefined
        ? (_host, certificate) => checkNames(subjectAltNames ?? [name], certificate)
        : () => undefined,
  }
}

/** The certificate must contain one of `names`: a DNS name, an address, or a URI such as a SPIFFE identity. */
function checkNames(names: readonly string[], certificate: tls.PeerCertificate): Error | undefined {
  const uris = altNames(certificate.subjectaltname ?? '').flatMap(({ kind, name }) => (kind === 'URI' ? [name] : []))
  let failure: Error | undefined
  for (const name of names) {
    if (name.includes('://')) {
      if (uris.includes(name)) return undefined
      continue
    }
    failure = tls.checkServerIdentity(name, certificate)
    if (failure === undefined) return undefined
  }
  return failure ?? Object.assign(new Error('no name matches'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
}

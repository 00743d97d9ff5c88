import { createSecureContext, type SecureContext } from 'node:tls'
import { CertificateIssuer } from '../../auth/certificate-issuer.ts'
import type { TlsFiles } from '../../config/snapshot.ts'
import type { Clock } from '../../runtime/runtime.ts'

/** Clients choose the names. */
const MAX_NAMES = 1000

/** TLS contexts with certificates issued on demand, one per server name. */
export class IssuedContexts {
  readonly #issuer: CertificateIssuer
  readonly #files: TlsFiles
  readonly #clock: Clock
  /** The least recently used first. */
  readonly #issued = new Map<string, { readonly context: SecureContext; readonly renewAt: number }>()

  constructor(files: TlsFiles, clock: Clock) {
    this.#issuer = new CertificateIssuer(files.cert, files.key)
    this.#files = files
    this.#clock = clock
  }

  contextFor(name: string): SecureContext {
    const now = this.#clock.now()
    const known = this.#issued.get(name)
    this.#issued.delete(name)
    if (known && now < known.renewAt) {
      this.#issued.set(name, known)
      return known.context
    }
    if (this.#issued.size >= MAX_NAMES) this.#issued.delete(this.#issued.keys().next().value as string)
    const { cert, key, renewAt } = this.#issuer.issue(name, now)
    const { ca } = this.#files
    const context = createSecureContext({ cert, key, ...(ca ? { ca } : {}) })
    this.#issued.set(name, { context, renewAt })
    return context
  }
}

import type { Budget, BudgetHolder, OpenSession, SessionHolder, StateStore } from '../runtime/runtime.ts'

/**
 * State by identity, across reloads. `begin` opens a compilation; `commit` closes what the new configuration did not
 * request, `abandon` what only the rejected one had created.
 */
export class ReloadableState implements StateStore {
  readonly #allocate: (key: string, bytes: number) => ArrayBufferLike
  readonly #held = new Map<string, object>()
  #asked = new Set<string>()
  #made = new Set<string>()
  /** Values that are still closing. */
  readonly #closing = new Set<Promise<unknown>>()

  /** `allocate`: provides memory shared with other workers. */
  constructor(allocate: (key: string, bytes: number) => ArrayBufferLike = (_key, bytes) => new ArrayBuffer(bytes)) {
    this.#allocate = allocate
  }

  memory(key: string, bytes: number): ArrayBufferLike {
    return this.get(key, () => this.#allocate(key, bytes))
  }

  get<T extends object>(key: string, make: () => T): T {
    this.#asked.add(key)
    const known = this.#held.get(key)
    if (known) return known as T
    const made = make()
    this.#held.set(key, made)
    this.#made.add(key)
    return made
  }

  /** The memory that other workers can share, by key. */
  shared(): ReadonlyMap<string, SharedArrayBuffer> {
    const out = new Map<string, SharedArrayBuffer>()
    for (const [key, value] of this.#held) if (value instanceof SharedArrayBuffer) out.set(key, value)
    return out
  }

  /** The remainders of all loaded limits. */
  budgets(): Budget[] {
    const out: Budget[] = []
    for (const value of this.#held.values()) if ('budget' in value) out.push((value as BudgetHolder).budget())
    return out
  }

  sessions(): OpenSession[] {
    const out: OpenSession[] = []
    for (const value of this.#held.values()) {
      if ('openSessions' in value) out.push(...(value as SessionHolder).openSessions())
    }
    return out
  }

  /** The keys of all values held. */
  keys(): Iterable<string> {
    return this.#held.keys()
  }

  /** `partial`: only part of the configuration is recompiled; the rest keeps its state. */
  begin(partial = false): void {
    if (!partial) this.#asked = new Set()
    this.#made = new Set()
  }

  commit(): void {
    for (const key of this.#held.keys()) if (!this.#asked.has(key)) this.#drop(key)
  }

  abandon(): void {
    for (const key of this.#made) this.#drop(key)
  }

  /** The gateway is draining: idle long-lived calls are released. */
  stopping(): void {
    for (const value of this.#held.values()) if ('stopping' in value) (value as SessionHolder).stopping()
  }

  /** Resolves when everything is closed, including earlier closes. State is notified of the stop first. */
  async close(): Promise<void> {
    for (const key of [...this.#held.keys()]) this.#drop(key, true)
    await Promise.all(this.#closing)
  }

  #drop(key: string, stops = false): void {
    const value = this.#held.get(key)
    this.#held.delete(key)
    if (!value || !('close' in value) || typeof value.close !== 'function') return
    const closing: unknown = value.close(stops)
    if (!(closing instanceof Promise)) return
    this.#closing.add(closing)
    void closing.finally(() => this.#closing.delete(closing))
  }
}

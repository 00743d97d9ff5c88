// The services that policies call. Each is compiled like a backend, so addresses, TLS and credentials mean the same.
import type { Callee } from '../../calls/outcall.ts'
import type { Path } from '../../diagnostics/diagnostic.ts'
import { GatewayError } from '../../http/errors.ts'
import type { CalleeSpec } from '../../policies/policy.ts'
import type { BackendCompiler } from '../compile-backends.ts'
import type { Compilation } from '../compile-context.ts'
import type { PolicyLevel } from '../compile-policies.ts'
import type { WeightedBackend } from '../snapshot.ts'
import { IDLE_ON_CALLEES, reportIdle } from '../unserved/transformations.ts'

/** Kinds of backend that are one HTTP service. */
const CALLABLE: readonly string[] = ['host', 'service']

export class Callees {
  readonly #c: Compilation
  readonly #backends: BackendCompiler
  /** Named backends whose policies are being compiled for a callee. */
  readonly #open = new Set<string>()

  constructor(c: Compilation, backends: BackendCompiler) {
    this.#c = c
    this.#backends = backends
  }

  /** `path`: where `spec` is written. Undefined after a finding. */
  resolve(
    spec: CalleeSpec,
    path: Path,
    identity: string,
    policies: { readonly specs: Readonly<Record<string, unknown>>; readonly path: Path } | undefined,
  ): Callee | undefined {
    const { backend, host, service } = spec
    if (backend !== undefined && this.#open.has(backend)) {
      this.#reportCycle(backend, path)
      return undefined
    }
    const key = `${identity}->${path.join('.')}`
    const levels: PolicyLevel[] = []
    if (host?.scheme === 'https') {
      const specs = { backendTLS: { insecure: false, insecureHost: false } }
      levels.push({ specs, path: [...path, 'host'], on: 'backend', identity: `backend:${key}`, fieldOf: () => 'host' })
    }
    if (policies) {
      const level: PolicyLevel = { ...policies, on: 'backend', identity: `backend:${key}` }
      reportIdle(level, IDLE_ON_CALLEES, this.#c)
      levels.push(level)
    }
    if (backend !== undefined) this.#open.add(backend)
    const compiled = this.#backends.compile({ weight: 1, host, service, backend }, path, key, levels)
    if (backend !== undefined) this.#open.delete(backend)
    if (compiled && !CALLABLE.includes(compiled.backend.kind)) {
      this.#reportKind(compiled, path)
      return undefined
    }
    return compiled && calleeOf(compiled, this.#keyOf(compiled))
  }

  /** Connections through a callee must not outlive its address, settings or keys. */
  #keyOf({ backend }: WeightedBackend): string {
    if (backend.kind === 'host' && backend.target) return backend.target.key
    // Its endpoints come from the file, so each load of the file makes a new service.
    return `${backend.name}@${this.#c.runtime.clock.mono()}`
  }

  #reportCycle(backend: string, path: Path): void {
    this.#c.report({
      code: 'GW210',
      message: `calls to \`${backend}\` need \`${backend}\` itself`,
      path: [...path, 'backend'],
      at: 'value',
      label: 'leads back to where it started',
    })
  }

  #reportKind({ backend }: WeightedBackend, path: Path): void {
    this.#c.report({
      code: 'GW211',
      message: `\`${backend.name}\` is a backend of kind \`${backend.kind}\`, which a policy cannot call`,
      path: [...path, 'backend'],
      at: 'value',
      label: 'not one HTTP service',
      help: 'use a backend of kind `host`, or a service',
    })
  }
}

function calleeOf({ backend, pipeline }: WeightedBackend, key: string): Callee {
  return {
    name: backend.name,
    key,
    requestTimeout: pipeline.upstream.requestTimeout,
    steps: pipeline,
    target() {
      const target = backend.target
      if (target === undefined) throw new GatewayError('noHealthyBackend')
      return target
    },
    send: (x, attempt, on) => backend.send(x, attempt, on),
  }
}

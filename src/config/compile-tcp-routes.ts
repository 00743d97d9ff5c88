import type { BackendCompiler } from './compile-backends.ts'
import type { Compilation } from './compile-context.ts'
import type { PolicyLevel } from './compile-policies.ts'
import type { RouteParent } from './compile-routes.ts'
import type { RouteKeys } from './references/route-keys.ts'
import type { Listener, TcpRoute, WeightedBackend } from './snapshot.ts'
import type { TcpRouteSection } from './standalone/route-section.ts'
import type { TargetedLevels } from './targeted-policies.ts'

/** TCP routes, which take only the policies that say how a backend is reached. */
export class TcpRouteCompiler {
  readonly #c: Compilation
  readonly #backends: BackendCompiler
  readonly #targeted: TargetedLevels
  readonly #keys: RouteKeys

  constructor(c: Compilation, backends: BackendCompiler, targeted: TargetedLevels, keys: RouteKeys) {
    this.#c = c
    this.#backends = backends
    this.#targeted = targeted
    this.#keys = keys
  }

  /** `position` identifies an unnamed route: its index among its siblings. */
  compile(spec: TcpRouteSection, position: number, parent: RouteParent, protocol: Listener['protocol']): TcpRoute {
    const path = this.#c.paths.get(spec) ?? []
    const name = spec.name ?? `tcproute${position}`
    const namespace = spec.namespace ?? 'default'
    const key = this.#keys.keyOf(parent.listenerKey, namespace, name)
    const targeted = this.#targeted.forRoute(parent, { name, namespace, ruleName: spec.ruleName, kind: 'tcp' })
    const backends = this.#compileBackends(spec, key, targeted)
    if (protocol === 'UDP') this.#checkDatagrams(backends, spec)
    return {
      key,
      name,
      namespace,
      ruleName: spec.ruleName,
      origin: this.#c.document.origin(path),
      hostnames: spec.hostnames,
      backends,
      totalWeight: backends.reduce((sum, b) => sum + b.weight, 0),
    }
  }

  /** Policies between the listener and the backend would silently have no effect. */
  #checkDatagrams(backends: readonly WeightedBackend[], spec: TcpRouteSection): void {
    for (const { backend } of backends) {
      const { tls, tunnel } = backend.target ?? {}
      if (!tls && !tunnel) continue
      this.#c.report({
        code: 'GW601',
        message: `\`${backend.name}\` is to be reached ${tls ? 'with TLS' : 'through a tunnel'}, which datagrams are not`,
        path: this.#c.paths.get(spec) ?? [],
        at: 'value',
        label: 'gwctl run refuses to start with this',
        help: tls ? 'leave TLS out, or use `protocol: TCP`' : 'leave the tunnel out, or use `protocol: TCP`',
      })
    }
  }

  #compileBackends(spec: TcpRouteSection, key: string, targeted: readonly PolicyLevel[]): WeightedBackend[] {
    const path = this.#c.paths.get(spec) ?? []
    const levels = [...targeted]
    if (spec.policies !== undefined) {
      const specs = spec.policies as Readonly<Record<string, unknown>>
      levels.push({ specs, path: [...path, 'policies'], on: 'route', identity: `route:${key}@${path.join('.')}` })
    }
    return spec.backends.flatMap((written, i) => {
      const inner = written as unknown as Readonly<Record<string, unknown>>
      const at = this.#c.paths.get(inner) ?? [...path, 'backends', i]
      const compiled = this.#backends.compile(inner, at, `/${key}/backend${i}`, levels)
      if (!compiled || 'target' in compiled.backend || compiled.backend.targetFor) return compiled ?? []
      this.#c.report({
        code: 'GW201',
        message: `a TCP route leads to an address, and \`${compiled.backend.name}\` is of kind \`${compiled.backend.kind}\``,
        path: at,
        at: 'value',
        label: 'not an address',
        help: 'use a backend of kind `host`',
      })
      return []
    })
  }
}

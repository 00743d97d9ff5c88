import { keyOf, type Path } from '../../../diagnostics/diagnostic.ts'
import { isThisMachine } from '../../../http/own-host.ts'
import type { Route } from '../../snapshot.ts'
import type { Lint, LintedFile } from '../lint.ts'
import { type RouteSpec, routesOf } from '../sites.ts'

/** GW559: a backend that is the port on which the request arrived. */
export const ownPort: Lint = file => {
  checkMirrors(file)
  const written = writtenHosts(file)
  for (const { listeners, port } of file.snapshot.binds) {
    for (const route of listeners.flatMap(({ routes }) => routes)) {
      for (const { backend } of route.backends) {
        const { target } = backend
        if (!target || target.port !== port || port === 0 || !isThisMachine(target.host) || changes(route)) continue
        const key = keyOf(backend.origin)
        const path = written.get(key)
        if (path === undefined) continue
        written.delete(key)
        file.report({
          code: 'GW559',
          message: 'the backend is the gateway itself: requests go round until they get 508',
          path,
          at: 'value',
          label: `this file opens port ${port}`,
          help: 'name the port of the service behind the gateway',
        })
      }
    }
  }
}

/** Mirrors to a port of the file: the same route mirrors each copy again. */
function checkMirrors(file: LintedFile): void {
  const { binds, gateways, routes } = file.config
  const served: [RouteSpec, readonly number[]][] = []
  for (const { port, listeners } of binds)
    for (const listener of listeners) for (const route of listener.routes ?? []) served.push([route, [port ?? 0]])
  for (const route of routes) {
    const names = route.gateways === undefined || route.gateways.length === 0 ? ['default'] : route.gateways
    served.push([route, names.map(name => gateways[name.split('/')[0]!]?.port ?? 0)])
  }
  for (const [route, ports] of served) {
    const mirror = route.policies?.requestMirror
    const { host } = mirror?.backend ?? {}
    if (!mirror || host === undefined) continue
    if (!isThisMachine(host.host) || !ports.includes(host.port)) continue
    file.report({
      code: 'GW559',
      message: 'the mirror is the gateway itself: each copy is copied again until it gets 508',
      path: [...file.pathOf(mirror.backend), 'host'],
      at: 'value',
      label: `this file opens port ${host.port}`,
      help: 'name the port of the service that is to get the copies',
    })
  }
}

function writtenHosts(file: LintedFile): Map<string, Path> {
  const backends = [...routesOf(file.config).flatMap(route => route.backends), ...file.config.backends]
  return new Map(
    backends
      .filter(({ host }) => host !== undefined)
      .map(backend => {
        const path = [...file.pathOf(backend), 'host']
        return [keyOf(file.document.origin(path)), path]
      }),
  )
}

const CHANGERS: ReadonlySet<string> = new Set(['urlRewrite', 'requestHeaderModifier', 'transformations'])

/** A request that returns modified may match another route. */
function changes(route: Route): boolean {
  return route.pipeline.steps.some(({ policy }) => CHANGERS.has(policy))
}

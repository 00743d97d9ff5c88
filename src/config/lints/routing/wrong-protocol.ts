import type { Lint } from '../lint.ts'

/** GW544: routes of one protocol on a listener of another. */
export const wrongProtocol: Lint = file => {
  const http = new Set<object>()
  const tcp = new Set<object>()
  const { routes, tcpRoutes, gateways } = file.config
  const protocols = new Map<string, string>()
  for (const { listeners } of file.snapshot.binds)
    for (const listener of listeners)
      for (const key of [listener.gateway, `${listener.gateway}/${listener.name}`])
        protocols.set(
          key,
          protocols.has(key) && protocols.get(key) !== kindOf(listener.protocol) ? 'both' : kindOf(listener.protocol),
        )
  const refs = (spec: { readonly gateways?: readonly string[] }) =>
    spec.gateways ?? (gateways.default ? ['default'] : [])
  for (const spec of routes) if (refs(spec).some(ref => protocols.get(ref) === 'tcp')) http.add(spec)
  for (const spec of tcpRoutes) if (refs(spec).some(ref => protocols.get(ref) === 'http')) tcp.add(spec)
  for (const spec of [...http, ...tcp]) {
    const kind = tcp.has(spec) ? 'TCP' : 'HTTP'
    file.report({
      code: 'GW544',
      message: `a gateway that the route names does not speak ${kind}: it never serves the route`,
      path: 'gateways' in spec ? [...file.pathOf(spec), 'gateways'] : file.pathOf(spec),
      at: 'value',
      label: 'another protocol',
      help:
        kind === 'TCP'
          ? 'give the gateway `protocol: TCP`, `TLS` or `UDP`'
          : 'give the gateway `protocol: HTTP` or `HTTPS`',
    })
  }
}

function kindOf(protocol: string): string {
  return ['TCP', 'TLS', 'UDP'].includes(protocol) ? 'tcp' : 'http'
}

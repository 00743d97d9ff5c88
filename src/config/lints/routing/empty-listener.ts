import type { Lint } from '../lint.ts'

/** GW522: a port that answers every request with 404. An explicit `routes: []` is intentional. */
export const emptyListener: Lint = file => {
  const served: string[] = []
  for (const bind of file.snapshot.binds)
    for (const listener of bind.listeners)
      if (listener.routes.length + listener.tcpRoutes.length > 0) served.push(listener.key)
  for (const name of Object.keys(file.config.gateways)) {
    const key = `gateway/${name}`
    if (served.some(each => each === key || each.startsWith(`${key}/`))) continue
    file.report({
      code: 'GW522',
      message: `nothing is attached to the gateway \`${name}\``,
      path: ['gateways', name],
      at: 'key',
      label: 'serves nothing',
      help: `attach a route with \`gateways: ${name}\`, or remove it`,
    })
  }
}

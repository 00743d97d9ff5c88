import type { Lint, LintedFile } from './lint.ts'

/** GW522: a port that answers every request with 404. */
export const emptyListener: Lint = file => {
  const served = new Set<string>()
  for (const bind of file.snapshot.binds)
    for (const listener of bind.listeners)
      if (listener.routes.length + listener.tcpRoutes.length > 0) served.add(listener.key)
  for (const [name, gateway] of Object.entries(file.config.gateways)) {
    const keys = [...served]
    if (keys.some(key => key === `gateway/${name}` || key.startsWith(`gateway/${name}/`))) continue
    report(
      `nothing is attached to the gateway \`${name}\``,
      ['gateways', name],
      `attach a route: \`gateways: ${name}\``,
      file,
    )
    if (gateway.listeners) continue
  }
  for (const bind of file.config.binds) {
    for (const listener of bind.listeners) {
      if ((listener.routes ?? listener.tcpRoutes)?.length !== 0) continue
      const field = listener.routes ? 'routes' : 'tcpRoutes'
      report(
        'the listener has no routes',
        [...file.pathOf(listener), field],
        'add a route, or remove the listener',
        file,
      )
    }
  }
}

function report(message: string, path: readonly (string | number)[], help: string, file: LintedFile): void {
  file.report({ code: 'GW522', message, path, at: 'key', label: 'serves nothing', help })
}

import { keyOf } from '../../../diagnostics/diagnostic.ts'
import type { Lint, LintedFile } from '../lint.ts'
import { routesOf } from '../sites.ts'

/** GW545: plain HTTP to a port where TLS is spoken. */
export const plainOnTlsPort: Lint = file => {
  const written = [...routesOf(file.config).flatMap(route => route.backends), ...file.config.backends]
  const onTlsPort = written.filter(({ host }) => host?.port === 443)
  if (onTlsPort.length === 0) return
  const tls = tlsOrigins(file)
  for (const backend of onTlsPort) {
    const path = [...file.pathOf(backend), 'host']
    if (tls.get(keyOf(file.document.origin(path))) !== false) continue
    file.report({
      code: 'GW545',
      message: 'plain HTTP is spoken to port 443',
      path,
      at: 'value',
      label: 'TLS is not on',
      help: 'add `policies: {backendTLS: {}}` to the backend',
    })
  }
}

/** Whether TLS is spoken to each address of the file, by where it is written. */
function tlsOrigins({ snapshot }: LintedFile): Map<string, boolean> {
  const out = new Map<string, boolean>()
  const routes = snapshot.binds.flatMap(bind => bind.listeners.flatMap(listener => listener.routes))
  for (const { backend, origin } of [...routes.flatMap(route => route.backends), ...snapshot.backends.values()]) {
    const key = keyOf(origin)
    if (backend.target) out.set(key, out.get(key) === true || backend.target.tls !== undefined)
  }
  return out
}

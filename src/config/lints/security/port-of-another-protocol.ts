import { keyOf } from '../../../diagnostics/diagnostic.ts'
import type { Lint, LintedFile } from '../lint.ts'
import { routesOf } from '../sites.ts'

/** GW545: plain HTTP to a port where TLS is spoken, or the other way round. */
export const portOfAnotherProtocol: Lint = file => {
  const written = [...routesOf(file.config).flatMap(route => route.backends), ...file.config.backends]
  const onKnownPort = written.filter(({ host }) => host?.port === 443 || host?.port === 80)
  if (onKnownPort.length === 0) return
  const tls = tlsOrigins(file)
  for (const backend of onKnownPort) {
    const path = [...file.pathOf(backend), 'host']
    const onTlsPort = backend.host?.port === 443
    if (tls.get(keyOf(file.document.origin(path))) !== !onTlsPort) continue
    file.report({
      code: 'GW545',
      message: onTlsPort
        ? 'plain HTTP is spoken to port 443'
        : 'TLS is spoken to port 80, where servers speak plain HTTP',
      path,
      at: 'value',
      label: onTlsPort ? 'TLS is not on' : '`backendTLS` is on',
      help: onTlsPort
        ? 'add `policies: {backendTLS: {}}` to the backend'
        : 'write port 443, or the port where the backend speaks TLS, or remove `backendTLS`',
    })
  }
}

/** Where TLS is spoken to an address of the file on some of its ways; addresses that are called on none are left out. */
function tlsOrigins({ snapshot }: LintedFile): Map<string, boolean> {
  const out = new Map<string, boolean>()
  const routes = snapshot.binds.flatMap(bind => bind.listeners.flatMap(listener => listener.routes))
  for (const { backend, origin } of [...routes.flatMap(route => route.backends), ...snapshot.backends.values()]) {
    const key = keyOf(origin)
    if (backend.target) out.set(key, out.get(key) === true || backend.target.tls !== undefined)
  }
  return out
}

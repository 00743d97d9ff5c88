import { keyOf, type Path } from '../../../diagnostics/diagnostic.ts'
import { asFields } from '../../../schema/untyped.ts'
import type { Lint, LintedFile } from '../lint.ts'
import { routesOf } from '../sites.ts'

/** GW545: plain HTTP to a TLS port, or TLS to a plain HTTP port. */
export const portOfAnotherProtocol: Lint = file => {
  checkBackends(file)
  checkServices(file)
}

function checkBackends(file: LintedFile): void {
  const written = [...routesOf(file.config).flatMap(route => route.backends), ...file.config.backends]
  const onKnownPort = written.filter(({ host }) => host?.port === 443 || host?.port === 80)
  if (onKnownPort.length === 0) return
  const tls = tlsOrigins(file)
  for (const backend of onKnownPort) {
    const path = [...file.pathOf(backend), 'host']
    const onTlsPort = backend.host?.port === 443
    if (tls.get(keyOf(file.document.origin(path))) !== !onTlsPort) continue
    report(file, path, onTlsPort, onTlsPort ? 'add `policies: {backendTLS: {}}` to the backend' : NOT_80)
  }
}

const NOT_80 = 'write port 443, or the port where TLS is spoken, or switch TLS off'

/** Services that policies call, key sets, MCP targets: a URL, or `host:port` beside `policies`. */
function checkServices(file: LintedFile): void {
  file.visit('object', ({ node, value, path }) => {
    if (node.kind !== 'object' || Object.hasOwn(node.fields, 'weight')) return
    const { host, url, policies } = value as Readonly<Record<string, unknown>>
    const [address, name] = typeof host === 'string' ? [host, 'host'] : [url, 'url']
    if (typeof address !== 'string' || file.textAt([...path, name]) === '') return
    const [, scheme, port] = /^(?:(https?):\/\/)?(?:[^/:@]+|\[[^\]]*\]):(443|80)(?:\/|$)/.exec(address) ?? []
    const secure = scheme === 'https' || (scheme === undefined && asFields(policies)?.backendTLS !== undefined)
    if (port === undefined || secure === (port === '443')) return
    // If TLS is configured elsewhere, `host:443` may be right.
    if (scheme === undefined && port === '443' && !Object.hasOwn(node.fields, 'policies')) return
    const help = port === '80' ? NOT_80 : scheme === undefined ? 'add `policies: {backendTLS: {}}`' : 'write `https://`'
    report(file, [...path, name], port === '443', help)
  })
}

function report(file: LintedFile, path: Path, onTlsPort: boolean, help: string): void {
  file.report({
    code: 'GW545',
    message: onTlsPort ? 'plain HTTP is spoken to port 443' : 'TLS is used on port 80, where servers expect plain HTTP',
    path,
    at: 'value',
    label: onTlsPort ? 'TLS is not on' : 'TLS is on',
    help,
  })
}

/** Whether each address of the file is ever called over TLS. Addresses that are never called are left out. */
function tlsOrigins({ snapshot }: LintedFile): Map<string, boolean> {
  const out = new Map<string, boolean>()
  const routes = snapshot.binds.flatMap(bind => bind.listeners.flatMap(listener => listener.routes))
  for (const { backend, origin } of [...routes.flatMap(route => route.backends), ...snapshot.backends.values()]) {
    const key = keyOf(origin)
    if (backend.target) out.set(key, out.get(key) === true || backend.target.tls !== undefined)
  }
  return out
}

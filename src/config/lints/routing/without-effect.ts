import type { Path } from '../../../diagnostics/diagnostic.ts'
import type { Lint, LintedFile } from '../lint.ts'

/** GW546: fields of listeners and sections that another field overrides. */
export const withoutEffect: Lint = file => {
  for (const { listeners } of file.config.binds) checkListeners(listeners, file)
  for (const gateway of Object.values(file.config.gateways)) checkListeners(gateway.listeners ?? [gateway], file)
  for (const name of ['llm', 'mcp'] as const) checkSection(name, file)
  checkRequestLog(file)
}

interface Written {
  readonly protocol?: string
  readonly hostname?: string
  readonly tls?: object
}

/** The protocol that a connection begins with, which is therefore the same for all listeners of a port. */
type Start = 'tls' | 'tcp' | 'http' | 'udp'

function startOf({ protocol, tls }: Written): Start {
  const spoken = protocol ?? (tls ? 'HTTPS' : 'HTTP')
  if (spoken === 'HTTPS' || spoken === 'TLS') return 'tls'
  return spoken === 'TCP' ? 'tcp' : spoken === 'UDP' ? 'udp' : 'http'
}

function checkListeners(listeners: readonly Written[], file: LintedFile): void {
  const starts = listeners.map(startOf)
  const start = (['tls', 'tcp', 'http', 'udp'] as const).find(each => starts.includes(each))
  const passedOn = start === 'tcp' || start === 'udp'
  for (const [i, listener] of listeners.entries()) {
    const path = file.pathOf(listener)
    if (starts[i] !== start) {
      report(file, path, 'value', 'no connection reaches the listener: others on its port speak another protocol', {
        label: 'never reached',
        help: 'give it a port of its own',
      })
    } else if (passedOn && i > starts.indexOf(start)) {
      report(file, path, 'value', 'no connection reaches the listener: without TLS the first one takes them all', {
        label: 'never reached',
        help: 'give it a port of its own, or use `protocol: TLS`',
      })
    } else if (passedOn && listener.hostname !== undefined && !['', '*'].includes(listener.hostname)) {
      report(file, [...path, 'hostname'], 'key', `\`hostname\` changes nothing: ${listener.protocol} names no host`, {
        label: 'this listener gets every connection',
        help: 'remove it',
      })
    } else if (start !== 'tls' && listener.tls) {
      report(
        file,
        [...path, 'tls'],
        'key',
        `\`tls\` changes nothing: the listener speaks ${listener.protocol ?? 'HTTP'}`,
        {
          label: 'connections are not encrypted',
          help: start === 'udp' ? 'remove it' : `write \`protocol: ${start === 'tcp' ? 'TLS' : 'HTTPS'}\``,
        },
      )
    }
  }
}

function checkRequestLog(file: LintedFile): void {
  const { config, frontendPolicies } = file.config
  if (config?.database?.url ?? config?.logging?.database?.url) return
  for (const path of [
    frontendPolicies?.accessLog?.database && ['frontendPolicies', 'accessLog', 'database'],
    config?.standardAttributes && ['config', 'standardAttributes'],
  ]) {
    if (!path) continue
    report(file, path, 'key', `\`${path.at(-1)}\` changes nothing: there is no request database`, {
      label: 'never written',
      help: 'add `config: {database: {url: "sqlite://./requests.db"}}`, or remove it',
    })
  }
}

function checkSection(name: 'llm' | 'mcp', file: LintedFile): void {
  const section = file.config[name]
  if (section?.gateways === undefined) return
  for (const field of ['port', 'tls']) {
    if ((section as Readonly<Record<string, unknown>>)[field] === undefined) continue
    report(file, [name, field], 'key', `\`${field}\` changes nothing: \`gateways\` says where the section is served`, {
      label: 'the gateway has one of its own',
      help: 'remove it, or `gateways`',
    })
  }
}

function report(
  file: LintedFile,
  path: Path,
  at: 'key' | 'value',
  message: string,
  more: { readonly label: string; readonly help: string },
): void {
  file.report({ code: 'GW546', message, path, at, ...more })
}

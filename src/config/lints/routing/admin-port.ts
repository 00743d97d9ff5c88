import type { Path } from '../../../diagnostics/diagnostic.ts'
import { parseListenAddress } from '../../../http/listen-address.ts'
import type { Lint, LintedFile } from '../lint.ts'

const SERVERS = {
  adminAddr: { what: 'the admin server', standard: '127.0.0.1:15000' },
  statsAddr: { what: 'the metrics server', standard: '[::]:15020' },
  readinessAddr: { what: 'the readiness server', standard: '[::]:15021' },
} as const

/** GW575: a port that one of the gateway's own servers also opens. */
export const adminPort: Lint = file => {
  const taken = new Map<number, keyof typeof SERVERS>()
  for (const name of Object.keys(SERVERS) as (keyof typeof SERVERS)[]) {
    const address = parseListenAddress(file.config.config?.[name] ?? SERVERS[name].standard)
    if (address?.kind !== 'tcp' || address.port === 0) continue
    const other = taken.get(address.port)
    taken.set(address.port, other ?? name)
    if (other !== undefined && file.config.config?.[name] === file.config.config?.[other])
      report(file, address.port, ['config', name], other, 'give each of them a port of its own')
  }
  for (const { port, path } of openedPorts(file)) {
    const name = taken.get(port)
    if (name === undefined) continue
    report(file, port, path, name, `choose another port, or move the server with \`config.${name}\``)
  }
}

function report(file: LintedFile, port: number, path: Path, name: keyof typeof SERVERS, help: string): void {
  file.report({
    code: 'GW575',
    message: `port ${port} is used twice: ${SERVERS[name].what} listens there too`,
    path,
    at: 'value',
    label: 'already in use',
    help,
  })
}

function openedPorts({ config, pathOf }: LintedFile): { readonly port: number; readonly path: Path }[] {
  const holders: { readonly port?: number | undefined }[] = [...config.binds, ...Object.values(config.gateways)]
  if (config.llm) holders.push(config.llm)
  if (config.mcp) holders.push(config.mcp)
  return holders.flatMap(holder =>
    holder.port === undefined ? [] : [{ port: holder.port, path: [...pathOf(holder), 'port'] }],
  )
}

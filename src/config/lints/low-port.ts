import type { Lint } from './lint.ts'

/** GW532: a port that requires privileges on many systems. */
export const lowPort: Lint = file => {
  const { binds, gateways, llm, mcp } = file.config
  const ports = [
    ...binds.map(bind => [bind.port, file.pathOf(bind)] as const),
    ...Object.entries(gateways).map(([name, { port }]) => [port, ['gateways', name]] as const),
    [llm?.port, ['llm']] as const,
    [mcp?.port, ['mcp']] as const,
  ]
  for (const [port, holder] of ports) {
    if (port === undefined || port === 0 || port >= 1024) continue
    file.report({
      code: 'GW532',
      message: `port ${port} needs a privilege on many systems`,
      path: [...holder, 'port'],
      at: 'value',
      label: 'below 1024',
      help: 'grant `CAP_NET_BIND_SERVICE`, or open a higher port and forward to it',
    })
  }
}

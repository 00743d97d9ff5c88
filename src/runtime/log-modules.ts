/** Everything that writes to the log, by its name in filters. */
export const LOG_MODULES = {
  cluster: 'following a cluster: what is heard, served and written there',
  gateway: 'starting, reloading and stopping; what goes wrong beside requests',
  'gateway::mcp::lock': 'MCP tools that are not as they were reviewed',
  'gateway::mcp::stdio': 'what MCP servers over stdio write to stderr',
  log: 'lines that were lost',
  request: 'the access log: one record for each request',
  telemetry: 'deliveries to collectors of logs and traces',
} as const

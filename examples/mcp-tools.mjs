// Lists the tools behind an MCP endpoint and calls `echo`. Usage: node examples/mcp-tools.mjs URL
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const client = new Client({ name: 'quickstart', version: '1.0.0' })
const transport = new StreamableHTTPClientTransport(new URL(process.argv[2] ?? 'http://localhost:3000/mcp'))
await client.connect(transport)
const { tools } = await client.listTools()
for (const tool of tools) console.log(`${tool.name}: ${tool.description?.split('\n')[0] ?? ''}`)
if (tools.some(tool => tool.name === 'echo')) {
  const result = await client.callTool({ name: 'echo', arguments: { message: 'hello through the gateway' } })
  console.log(`echo answers: ${result.content[0].text}`)
}
await transport.terminateSession()
await client.close()

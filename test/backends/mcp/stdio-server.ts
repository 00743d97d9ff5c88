import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { buildServer } from './sdk-server.ts'

process.stderr.write(`started ${process.argv[2]}\n`)
await buildServer(process.argv[2] ?? 'stdio').connect(new StdioServerTransport())

// The least MCP server there is, in both eras: `node target.mjs http` prints its port, `node target.mjs stdio` answers
// lines. What it costs is the same for every gateway in front of it.
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'

const MODERN = '2026-07-28'
const tools = [{ name: 'echo', description: 'Says it again.', inputSchema: { type: 'object', properties: {} } }]
const capabilities = { tools: {} }
const about = { name: 'null', version: '1' }
const cached = { ttlMs: 0, cacheScope: 'private' }

function answer({ id, method, params = {} }) {
  if (id === undefined) return undefined
  const complete =
    params._meta?.['io.modelcontextprotocol/protocolVersion'] === MODERN ? { resultType: 'complete' } : {}
  const results = {
    initialize: () => ({ protocolVersion: params.protocolVersion, capabilities, serverInfo: about }),
    ping: () => ({}),
    'server/discover': () => ({ ...complete, ...cached, supportedVersions: [MODERN], capabilities, serverInfo: about }),
    'tools/list': () => ({ ...complete, ...(complete.resultType && cached), tools }),
    'tools/call': () => ({ ...complete, content: [{ type: 'text', text: params.arguments?.text ?? '' }] }),
  }
  const result = results[method]?.()
  return JSON.stringify(
    result
      ? { jsonrpc: '2.0', id, result }
      : { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } },
  )
}

if (process.argv[2] === 'stdio') {
  createInterface({ input: process.stdin }).on('line', line => {
    const text = answer(JSON.parse(line))
    if (text) process.stdout.write(`${text}\n`)
  })
} else {
  let sessions = 0
  const server = createServer({ keepAliveTimeout: 600_000 }, (req, res) => {
    if (req.method !== 'POST') return res.writeHead(req.method === 'DELETE' ? 200 : 405).end()
    let body = ''
    req.setEncoding('utf8').on('data', part => {
      body += part
    })
    req.on('end', () => {
      const message = JSON.parse(body)
      const text = answer(message)
      if (text === undefined) return res.writeHead(202).end()
      const session = message.method === 'initialize' ? { 'mcp-session-id': `s${++sessions}` } : {}
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), ...session })
      res.end(text)
    })
  })
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
}

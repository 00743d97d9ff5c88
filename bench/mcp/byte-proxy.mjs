// node byte-proxy.mjs PORT TARGET: what a proxy on `node:http` costs that knows nothing of MCP.
import { Agent, createServer, request } from 'node:http'

const [port, target] = process.argv.slice(2).map(Number)
const agent = new Agent({ keepAlive: true })
createServer({ keepAliveTimeout: 600_000 }, (req, res) => {
  const { method, url: path, headers } = req
  const call = request({ agent, host: '127.0.0.1', port: target, method, path, headers }, reply => {
    res.writeHead(reply.statusCode, reply.headers)
    reply.pipe(res)
  })
  call.on('error', () => res.destroy())
  req.pipe(call)
}).listen(port, '127.0.0.1')

import { request } from 'node:http'

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
})

/** An MCP server that answers whatever it is asked, with the session id that each `initialize` gets. */
function mcpServer(arena) {
  let serial = 0
  return arena.backend((req, res) => {
    const { id, method } = JSON.parse(req.body || '{}')
    if (id === undefined) return res.writeHead(202).end()
    const headers = { 'content-type': 'application/json' }
    if (method === 'initialize') headers['mcp-session-id'] = `s${serial++}`
    const result =
      method === 'initialize'
        ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
        : { tools: [] }
    return res.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
}

/** Resolves to the status and the session. */
function post(port, body, { from = '127.0.0.1', session, key } = {}) {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session === undefined ? {} : { 'mcp-session-id': session }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    }
    const sent = request(
      { port, host: '127.0.0.1', localAddress: from, path: '/mcp', method: 'POST', headers },
      reply => {
        reply.resume().on('end', () => resolve({ status: reply.statusCode, session: reply.headers['mcp-session-id'] }))
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

const COUNT = 12_000
const AT_ONCE = 50

async function flood(port, options) {
  const statuses = new Map()
  let left = COUNT
  const one = async () => {
    while (left-- > 0) {
      const { status } = await post(port, INITIALIZE, options)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
  return statuses
}

/** @type {readonly import('./areas.mjs').Attack[]} */
export const sessions = [
  {
    name: `${COUNT.toLocaleString('en')} \`initialize\` from one client, and no use of them`,
    defends: 'sessions that were never used make room first, so others get in, and sessions in use stay',
    async run(arena) {
      const server = await mcpServer(arena)
      const target = `backends: [{mcp: {targets: [{name: t, mcp: {host: 'http://${server.host}/mcp'}}]}}]`
      const gateway = await arena.start(port => `binds: [{port: ${port}, listeners: [{routes: [{${target}}]}]}]`)
      const list = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' })
      const mine = await post(gateway.port, INITIALIZE, { from: '127.0.0.3' })
      arena.holds(mine.status === 200, `the first client got ${mine.status}`)
      await post(gateway.port, list, { from: '127.0.0.3', session: mine.session })
      const before = gateway.memory()
      await flood(gateway.port, { from: '127.0.0.2' })
      const late = await post(gateway.port, INITIALIZE, { from: '127.0.0.4' })
      arena.holds(late.status === 200, `a newcomer got ${late.status}`)
      const used = await post(gateway.port, list, { from: '127.0.0.4', session: late.session })
      arena.holds(used.status === 200, `its first call got ${used.status}`)
      const kept = await post(gateway.port, list, { from: '127.0.0.3', session: mine.session })
      arena.holds(kept.status === 200, `a session in use was lost: ${kept.status}`)
      const grown = Math.round((gateway.memory() - before) / 2 ** 20)
      arena.holds(grown < 400, `memory grew by ${grown} MB`)
      return `a newcomer is let in, a session in use stays, ${grown} MB`
    },
  },
]

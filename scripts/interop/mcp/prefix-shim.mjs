// Stands between the suite, which knows no prefixes, and a gateway of several targets: what the suite asks for by name
// gets the target's name in front, and loses it in the reply. A wrong prefix fails most of the suite.
import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'

const NAMED = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' }

/** Returns its port, and what closes it. */
export async function startShim(gateway, target) {
  const server = createServer(async (req, res) => {
    const chunks = []
    for await (const chunk of req) chunks.push(chunk)
    const { body, name } = prefixed(Buffer.concat(chunks), target)
    const headers = { ...req.headers, 'content-length': body.length }
    if (name !== undefined && headers['mcp-name'] !== undefined)
      headers['mcp-name'] = swapName(headers['mcp-name'], target)
    const up = httpRequest({ host: '127.0.0.1', port: gateway, method: req.method, path: req.url, headers }, reply => {
      const { 'content-length': _length, ...fields } = reply.headers
      res.writeHead(reply.statusCode, fields)
      res.flushHeaders()
      relay(reply, res, target)
    })
    up.on('error', () => res.destroy())
    res.on('close', () => up.destroy())
    up.end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: server.address().port,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function prefixed(body, target) {
  let message
  try {
    message = JSON.parse(body.toString())
  } catch {
    return { body }
  }
  const { method, params } = message
  const at = NAMED[method] ?? (/^resources\/(un)?subscribe$/.test(method) ? 'uri' : undefined)
  if (at !== undefined && typeof params?.[at] === 'string') params[at] = withTarget(params[at], at, target)
  if (params?.ref?.name !== undefined) params.ref.name = withTarget(params.ref.name, 'name', target)
  if (params?.ref?.uri !== undefined) params.ref.uri = withTarget(params.ref.uri, 'uri', target)
  const uris = params?.notifications?.resourceSubscriptions
  if (Array.isArray(uris)) params.notifications.resourceSubscriptions = uris.map(uri => withTarget(uri, 'uri', target))
  return { body: Buffer.from(JSON.stringify(message)), name: at && params?.[at] }
}

/** A header that disagreed with the body still does. */
function swapName(header, target) {
  const [, wrapped] = /^\s*=\?base64\?(.*)\?=\s*$/.exec(header) ?? []
  const name = wrapped === undefined ? header.trim() : Buffer.from(wrapped, 'base64').toString()
  const named = withTarget(name, name.includes('://') ? 'uri' : 'name', target)
  return wrapped === undefined ? named : `=?base64?${Buffer.from(named).toString('base64')}?=`
}

function withTarget(value, at, target) {
  return at === 'name' ? `${target}_${value}` : `${target}+${value}`
}

function relay(reply, res, target) {
  const type = reply.headers['content-type'] ?? ''
  let text = ''
  reply.setEncoding('utf8').on('data', chunk => {
    text += chunk
    if (!type.startsWith('text/event-stream')) return
    const end = text.lastIndexOf('\n') + 1
    res.write(text.slice(0, end).replace(/^data: (\{.*)$/gm, (_line, json) => `data: ${stripped(json, target)}`))
    text = text.slice(end)
  })
  reply.on('end', () => res.end(type.startsWith('application/json') ? stripped(text, target) : text))
  reply.on('error', () => res.destroy())
}

/** Of merged lists the suite sees what its own target offers. */
function stripped(json, target) {
  const own = new RegExp(`^${target}[_+]`)
  const isOwn = item => typeof item !== 'object' || own.test(item.uri ?? item.uriTemplate ?? item.name ?? `${target}_`)
  try {
    const message = JSON.parse(json)
    for (const key of ['tools', 'prompts', 'resources', 'resourceTemplates'])
      if (Array.isArray(message.result?.[key])) message.result[key] = message.result[key].filter(isOwn)
    const strip = (_key, value) => (typeof value === 'string' ? value.replace(own, '') : value)
    return JSON.stringify(JSON.parse(JSON.stringify(message), strip))
  } catch {
    return json
  }
}

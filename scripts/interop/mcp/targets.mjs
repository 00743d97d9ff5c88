// Servers for the MCP trials, as processes of their own, and the gateways in front of them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export const FIXTURE = fileURLToPath(new URL('fixture-server.mjs', import.meta.url))

/** A fixture over HTTP or HTTP+SSE. */
export async function startFixture(transport, eras = 'both', env = {}) {
  const child = spawn(process.execPath, [FIXTURE, transport, eras], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  return { child, port: Number(line), stop: () => child.kill('SIGKILL') }
}

/** A target of the configuration. */
export function httpTarget(name, port) {
  return { name, mcp: { host: `http://127.0.0.1:${port}/mcp` } }
}

export function sseTarget(name, port) {
  return { name, sse: { host: `http://127.0.0.1:${port}/sse` } }
}

export function stdioTarget(name, eras = 'both', env = {}) {
  return { name, stdio: { cmd: process.execPath, args: [FIXTURE, 'stdio', eras], env: { NAME: name, ...env } } }
}

/** The configuration of a gateway with these targets. */
export function gatewayOf(targets, more = {}) {
  const routes = [{ name: 'mcp', backends: [{ mcp: { targets, dnsRebindingProtection: true, ...more } }] }]
  return port => `binds: ${JSON.stringify([{ port, listeners: [{ routes }] }])}`
}

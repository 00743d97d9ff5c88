// grpc-go's interop client against its own server, through the gateway: in plaintext, with TLS to the gateway, and with
// TLS on both sides.
import { execFile, spawn } from 'node:child_process'
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createAuthority, createCertificate } from '../../../test/helpers/certificates.ts'
import { startGateway } from '../../../test/helpers/gateway.ts'

export const name = 'grpc'
export const title = 'grpc-go interop client (google.golang.org/grpc/interop), through the gateway'

const FOLDER = process.env.GOBIN ?? join(homedir(), 'go', 'bin')
const CLIENT = process.env.GRPC_CLIENT ?? join(FOLDER, 'client')
const SERVER = process.env.GRPC_SERVER ?? join(FOLDER, 'server')

/** Those that need neither an account of a cloud nor a server of xDS. */
const CASES = [
  'empty_unary',
  'large_unary',
  'client_streaming',
  'server_streaming',
  'ping_pong',
  'empty_stream',
  'timeout_on_sleeping_server',
  'cancel_after_begin',
  'cancel_after_first_response',
  'status_code_and_message',
  'special_status_message',
  'custom_metadata',
  'unimplemented_method',
  'unimplemented_service',
  'rpc_soak',
  'channel_soak',
]

/** The soaks measure what comes through, not how fast this machine is. */
const PATIENCE = ['-soak_per_iteration_max_acceptable_latency_ms', '20000', '-soak_overall_timeout_seconds', '50']
const HOST = 'grpc.test'
/** Whether TLS is spoken to the gateway, and by it to the server. */
const WAYS = [
  { way: 'plaintext', before: false, behind: false },
  { way: 'TLS, then plaintext', before: true, behind: false },
  { way: 'TLS on both sides', before: true, behind: true },
]

export async function needs() {
  for (const program of [CLIENT, SERVER]) {
    const there = await access(program).then(
      () => true,
      () => false,
    )
    if (!there) {
      return `there is no ${program}; \`go install google.golang.org/grpc/interop/client@latest google.golang.org/grpc/interop/server@latest\`, or set GRPC_CLIENT and GRPC_SERVER`
    }
  }
  return undefined
}

export async function run() {
  const outcome = { passed: 0, known: [], failed: [] }
  const authority = createAuthority('grpc')
  const { cert, key } = createCertificate(authority, [HOST])
  const folder = await mkdtemp(join(tmpdir(), 'gwctl-grpc-'))
  const files = { 'ca.pem': authority.cert, 'cert.pem': cert, 'key.pem': key }
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text)
  try {
    for (const each of WAYS) await runWay(each, folder, files, outcome)
  } finally {
    await rm(folder, { recursive: true })
  }
  return outcome
}

async function runWay({ way, before, behind }, folder, files, outcome) {
  const port = await freePort()
  const own = behind ? ['-tls_cert_file', join(folder, 'cert.pem'), '-tls_key_file', join(folder, 'key.pem')] : []
  const server = spawn(SERVER, ['-port', String(port), `-use_tls=${behind}`, ...own], { stdio: 'ignore' })
  const listener = before ? 'protocol: HTTPS, tls: {cert: cert.pem, key: key.pem}, ' : ''
  const policies = behind ? `, policies: {backendTLS: {root: ca.pem, hostname: ${HOST}}}` : ''
  try {
    await listening(port)
    const gateway = await startGateway(
      `binds: [{port: 8080, listeners: [{${listener}routes: [{backends: [{host: '127.0.0.1:${port}'${policies}}]}]}]}]`,
      { files },
    )
    const tls = before ? ['-use_test_ca', '-ca_file', join(folder, 'ca.pem'), '-server_host_override', HOST] : []
    for (const each of CASES) {
      const wrong = await play(each, gateway.gateway.portOf(8080), [`-use_tls=${before}`, ...tls])
      if (wrong === undefined) outcome.passed++
      else outcome.failed.push({ case: `${way}: ${each}`, reason: wrong })
    }
    await gateway[Symbol.asyncDispose]()
    const warnings = gateway.logged.filter(line => line.includes('\twarn\t'))
    if (warnings.length > 0) outcome.failed.push({ case: `${way}: no warnings`, reason: warnings[0] })
  } finally {
    server.kill()
  }
}

async function play(test, port, tls) {
  const args = ['-server_host', '127.0.0.1', '-server_port', String(port), ...tls, ...PATIENCE, '-test_case', test]
  try {
    await promisify(execFile)(CLIENT, args, { timeout: 60_000 })
    return undefined
  } catch (error) {
    return String(error.stderr ?? error.message)
      .trim()
      .split('\n')
      .at(-1)
  }
}

function freePort() {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

/** The server says nothing when it is ready. */
async function listening(port) {
  for (let tries = 0; tries < 100; tries++) {
    const open = await new Promise(resolve => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
      socket.on('close', () => {}).unref()
      setTimeout(() => socket.destroy(), 50)
    })
    if (open) return
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  throw new Error(`the interop server does not listen on port ${port}`)
}

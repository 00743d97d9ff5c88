// grpc-go's interop client against its own server, through the gateway in plaintext.
import { execFile, spawn } from 'node:child_process'
import { access } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startGateway } from '../../../test/helpers/gateway.ts'

export const name = 'grpc'
export const title = 'grpc-go interop client (google.golang.org/grpc/interop), through the gateway'

const FOLDER = process.env.GOBIN ?? join(homedir(), 'go', 'bin')
const CLIENT = process.env.GRPC_CLIENT ?? join(FOLDER, 'client')
const SERVER = process.env.GRPC_SERVER ?? join(FOLDER, 'server')

/** Those that need no account of a cloud. */
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
  const port = await freePort()
  const server = spawn(SERVER, ['-port', String(port), '-use_tls=false'], { stdio: 'ignore' })
  const outcome = { passed: 0, known: [], failed: [] }
  try {
    await listening(port)
    const gateway = await startGateway(
      `binds: [{port: 8080, listeners: [{routes: [{backends: [{host: '127.0.0.1:${port}'}]}]}]}]`,
    )
    for (const each of CASES) {
      const wrong = await play(each, gateway.gateway.portOf(8080))
      if (wrong === undefined) outcome.passed++
      else outcome.failed.push({ case: each, reason: wrong })
    }
    await gateway[Symbol.asyncDispose]()
    const warnings = gateway.logged.filter(line => line.includes('\twarn\t'))
    if (warnings.length > 0) outcome.failed.push({ case: 'no warnings', reason: warnings[0] })
    else outcome.passed++
  } finally {
    server.kill()
  }
  return outcome
}

async function play(test, port) {
  const args = ['-server_host', '127.0.0.1', '-server_port', String(port), '-use_tls=false', '-test_case', test]
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

// npm run interop:auth: services written on Envoy's own protos (go-control-plane, grpc-go) decide about requests and
// process them. With `-- --record` the result goes into docs/interop.md. Needs Go and a build; not part of the tests.
import { execFile, spawn } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePorts } from './api-server.mjs'
import { replaceSection } from './section.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const ENVOY = 'v1.36.0'
const GRPC = 'v1.76.0'
const LEFT_OUT = ['Envoy’s `ratelimit` service with Redis', '`oidc-provider`', 'a browser']

const folder = await mkdtemp(join(tmpdir(), 'gwctl-auth-'))
const stops = []
const failed = []
let passed = 0

try {
  const services = await startServices()
  const url = await startGateway(services, await startBackend())
  for (const [what, holds] of Object.entries(CHECKS())) {
    if (await holds(url)) passed++
    else failed.push(what)
  }
} finally {
  for (const stop of stops.reverse()) await stop()
  await rm(folder, { recursive: true })
}
const result = `go-control-plane/envoy ${ENVOY}, grpc-go ${GRPC}: ${passed} of ${passed + failed.length} checks`
process.stdout.write(`${result}\n${failed.map(what => `FAILED ${what}\n`).join('')}not run: ${LEFT_OUT.join(', ')}\n`)
if (process.argv.includes('--record')) {
  const lines = Object.keys(CHECKS()).map(what => `- ${what}${failed.includes(what) ? ': fails' : ''}`)
  const text = `## Services on Envoy’s protos\n\n\`npm run interop:auth\`. ${result}:\n\n${lines.join('\n')}\n\nNot run: ${LEFT_OUT.join(', ')}.\n`
  await replaceSection(join(root, 'docs/interop.md'), 'envoy', 'npm run interop:auth -- --record', text)
}
process.exitCode = failed.length === 0 ? 0 : 1

/** Addresses by name. */
async function startServices() {
  const source = join(folder, 'envoy')
  await cp(fileURLToPath(new URL('envoy', import.meta.url)), source, { recursive: true })
  const needed = `github.com/envoyproxy/go-control-plane/envoy ${ENVOY}\n\tgoogle.golang.org/grpc ${GRPC}`
  await writeFile(join(source, 'go.mod'), `module envoy\n\ngo 1.24.0\n\nrequire (\n\t${needed}\n)\n`)
  const go = args => promisify(execFile)('go', args, { cwd: source, env: { ...process.env, GOFLAGS: '-mod=mod' } })
  await go(['build', '-o', 'services', '.'])
  const child = spawn(join(source, 'services'), { stdio: ['pipe', 'pipe', 'inherit'] })
  stops.push(() => ended(child))
  const found = {}
  for await (const line of createInterface({ input: child.stdout })) {
    const [name, address] = line.split(' ')
    found[name] = address
    if (found.authz && found.proc) return found
  }
  throw new Error('the services do not start')
}

/** Answers in lower case what it was asked. */
async function startBackend() {
  const server = createServer(async (req, res) => {
    const chunks = []
    for await (const chunk of req) chunks.push(chunk)
    res.end(JSON.stringify({ headers: req.headers, body: Buffer.concat(chunks).toString() }))
  })
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  stops.push(() => new Promise(done => server.close(done).closeAllConnections()))
  return `127.0.0.1:${server.address().port}`
}

async function startGateway({ authz, proc }, backend) {
  const file = join(folder, 'gateway.yaml')
  const [port, admin] = await freePorts()
  const to = `backends: [{host: '${backend}'}]`
  const asks = `host: '${authz}', protocol: {grpc: {context: {place: here}}}, includeRequestBody: {maxRequestBytes: 64}`
  const modes = 'processingOptions: {requestBodyMode: buffered, responseBodyMode: buffered}'
  await writeFile(
    file,
    `config: {adminAddr: '127.0.0.1:${admin}', statsAddr: 'off', readinessAddr: 'off'}
binds:
- port: ${port}
  listeners:
  - routes:
    - matches: [{path: {pathPrefix: /authz}}]
      policies: {extAuthz: {${asks}}, transformations: {request: {set: {x-seen: extauthz.user}}}}
      ${to}
    - matches: [{path: {pathPrefix: /proc}}]
      policies: {extProc: {host: '${proc}', ${modes}}}
      ${to}
`,
  )
  const gateway = spawn(process.execPath, [join(root, 'bin/run.js'), 'run', '-f', file], { stdio: 'ignore' })
  stops.push(() => ended(gateway))
  for (let left = 100; ; left--) {
    const ready = await fetch(`http://127.0.0.1:${admin}/healthz/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (ready) return `http://127.0.0.1:${port}`
    if (left === 0) throw new Error('the gateway does not become ready')
    await new Promise(done => setTimeout(done, 100))
  }
}

function CHECKS() {
  const post = (url, headers) => fetch(url, { method: 'POST', body: 'hello', headers })
  return {
    'a denial is the service’s: status, header fields and body': async url => {
      const reply = await post(`${url}/authz`)
      const said = await reply.text()
      return reply.status === 401 && reply.headers.get('www-authenticate') === 'Custom' && said === 'who are you?'
    },
    'the service sees method, path, body and context, sets and removes fields, and gives metadata': async url => {
      const reply = await post(`${url}/authz?a=b`, { 'x-user': 'ann' })
      const { headers, body } = await reply.json()
      const fields = headers['x-checked'] === 'POST /authz?a=b hello here' && headers['x-seen'] === 'ann'
      return fields && headers['x-user'] === undefined && body === 'hello'
    },
    'a processing service changes heads and buffered bodies both ways': async url => {
      const reply = await post(`${url}/proc`)
      const text = await reply.text()
      const { HEADERS: headers, BODY: body } = JSON.parse(text)
      return reply.headers.get('x-processed') === 'response' && headers['X-PROCESSED'] === 'REQUEST' && body === 'HELLO'
    },
  }
}

function ended(child) {
  return new Promise(done => {
    child.once('close', done)
    child.kill()
  })
}

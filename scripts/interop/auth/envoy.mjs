// Services on Envoy's own protos: ext_authz and ext_proc.
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const ENVOY = 'v1.36.0'
const GRPC = 'v1.76.0'

export const title = `services on Envoy’s protos (go-control-plane/envoy ${ENVOY}, grpc-go ${GRPC})`

export async function run(place) {
  const { authz, proc } = await startServices(place)
  const to = `backends: [{host: '${await place.backend(echo)}'}]`
  const asks = `host: '${authz}', protocol: {grpc: {context: {place: here}}}, includeRequestBody: {maxRequestBytes: 64}`
  const modes = 'processingOptions: {requestBodyMode: buffered, responseBodyMode: buffered}'
  const url = await place.gateway(
    'envoy',
    `{matches: [{path: {pathPrefix: /authz}}], policies: {extAuthz: {${asks}}, transformations: {request: {set: {x-seen: extauthz.user}}}}, ${to}},
{matches: [{path: {pathPrefix: /proc}}], policies: {extProc: {host: '${proc}', ${modes}}}, ${to}},
{matches: [{path: {pathPrefix: /stream}}], policies: {extProc: {host: '${proc}'}}, ${to}}`,
  )
  const post = (path, headers, body = 'hello') => fetch(`${url}${path}`, { method: 'POST', body, headers })
  return {
    'a denial is the service’s: status, header fields and body': async () => {
      const reply = await post('/authz')
      const said = await reply.text()
      return reply.status === 401 && reply.headers.get('www-authenticate') === 'Custom' && said === 'who are you?'
    },
    'the service sees method, path, body and context, sets and removes fields, and gives metadata': async () => {
      const reply = await post('/authz?a=b', { 'x-user': 'ann' })
      const { headers, body } = await reply.json()
      const fields = headers['x-checked'] === 'POST /authz?a=b hello here' && headers['x-seen'] === 'ann'
      return fields && headers['x-user'] === undefined && body === 'hello'
    },
    'a processing service changes heads and buffered bodies both ways': async () => {
      const reply = await post('/proc')
      const text = await reply.text()
      const { HEADERS: headers, BODY: body } = JSON.parse(text)
      return reply.headers.get('x-processed') === 'response' && headers['X-PROCESSED'] === 'REQUEST' && body === 'HELLO'
    },
    'a processing service changes 8 MB that stream both ways': async () => {
      const reply = await post('/stream', {}, 'a'.repeat(8_000_000))
      return JSON.parse(await reply.text()).BODY === 'A'.repeat(8_000_000)
    },
  }
}

/** Addresses by name. */
async function startServices(place) {
  const source = join(place.folder, 'envoy')
  await cp(fileURLToPath(new URL('envoy', import.meta.url)), source, { recursive: true })
  const needed = `github.com/envoyproxy/go-control-plane/envoy ${ENVOY}\n\tgoogle.golang.org/grpc ${GRPC}`
  await writeFile(join(source, 'go.mod'), `module envoy\n\ngo 1.24.0\n\nrequire (\n\t${needed}\n)\n`)
  const env = { ...process.env, GOFLAGS: '-mod=mod' }
  await place.run('go', ['build', '-o', 'services', '.'], { cwd: source, env })
  const { child } = place.start(join(source, 'services'), [])
  const found = {}
  for await (const line of createInterface({ input: child.stdout })) {
    const [name, address] = line.split(' ')
    found[name] = address
    if (found.authz && found.proc) return found
  }
  throw new Error('the services do not start')
}

function echo(req, res) {
  const chunks = []
  req.on('error', () => {})
  req.on('data', chunk => chunks.push(chunk))
  req.on('end', () => res.end(JSON.stringify({ headers: req.headers, body: Buffer.concat(chunks).toString() })))
}

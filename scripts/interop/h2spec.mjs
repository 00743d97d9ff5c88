// node scripts/interop/h2spec.mjs: what does h2spec, the conformance test of HTTP/2, say about the gateway? With
// `--record` the result goes into docs/interop.md. Needs `go install github.com/summerwind/h2spec/cmd/h2spec@latest`.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { access } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createAuthority, createCertificate } from '../../test/helpers/certificates.ts'
import { startGateway } from '../../test/helpers/gateway.ts'
import { replaceSection } from './section.mjs'

const BIN = process.env.H2SPEC ?? join(process.env.GOBIN ?? join(homedir(), 'go', 'bin'), 'h2spec')
const root = fileURLToPath(new URL('../../', import.meta.url))

/** What cannot be passed, and why; anything else that fails is a mistake of ours. */
const KNOWN = [
  ['Sends invalid connection preface', 'the port speaks HTTP/1.1 too, and answers such bytes with 400'],
  ['closed: Sends a', 'nghttp2 ignores frames on streams that it has forgotten, as RFC 9113 section 5.1 allows'],
  ['half closed (remote): Sends a', 'likewise, once the reply is complete'],
  ['that is not in "open" or "half-closed (local)" state', 'likewise, once the reply is complete'],
  ['Sends stream identifier that is numerically smaller', 'nghttp2 ignores it: such a stream counts as closed'],
  ['PRIORITY', 'RFC 9113 has withdrawn priorities; nghttp2 ignores the frames'],
  ['Sends a PING frame with ACK', 'Node.js takes an answer that nobody asked for as an attack, and closes'],
  ['above 2^31-1 on a stream', 'Node.js closes the connection instead of the stream'],
]

export function isInstalled() {
  return access(BIN).then(
    () => true,
    () => false,
  )
}

/** What h2spec says over plaintext and over TLS. */
export async function resultsOf() {
  const { cert, key } = createCertificate(createAuthority('h2spec'), ['localhost'])
  // The body is read first, so that what is wrong in it comes before the reply.
  const routes = `routes: [{policies: {buffer: {request: {}}, directResponse: {status: 200, body: ${'x'.repeat(100)}}}}]`
  const gateway = await startGateway(
    `binds:
- {port: 8080, listeners: [{${routes}}]}
- {port: 8443, listeners: [{protocol: HTTPS, tls: {cert: cert.pem, key: key.pem}, ${routes}}]}`,
    { files: { 'cert.pem': cert, 'key.pem': key } },
  )
  const results = []
  for (const [kind, port, flags] of [
    ['plaintext', 8080, []],
    ['TLS', 8443, ['-t', '-k']],
  ])
    results.push({ kind, ...(await h2spec(['-p', String(gateway.gateway.portOf(port)), ...flags])) })
  await gateway[Symbol.asyncDispose]()
  return results
}

async function main() {
  if (!(await isInstalled())) {
    process.stdout.write(`no h2spec at ${BIN}: nothing was tested (set H2SPEC)\n`)
    return
  }
  const results = await resultsOf()
  process.stdout.write(report(results))
  if (results.some(({ unknown }) => unknown.length > 0)) process.exitCode = 1
  if (process.argv.includes('--record'))
    await replaceSection(
      join(root, 'docs/interop.md'),
      'h2spec',
      'node scripts/interop/h2spec.mjs --record',
      `## HTTP/2\n\n[h2spec](https://github.com/summerwind/h2spec) against a direct response.\n\n${report(results)}`,
    )
}

async function h2spec(args) {
  const child = execFile(BIN, ['-h', '127.0.0.1', '--timeout', '3', ...args], () => {})
  let output = ''
  child.stdout.on('data', chunk => {
    output += chunk
  })
  await once(child, 'close')
  const total = /(\d+) tests, (\d+) passed/.exec(output)
  const summary = output.slice(output.indexOf('Failures:'))
  const failed = [...new Set([...summary.matchAll(/× \d+: (.*)/g)].map(match => match[1].trim()))]
  return {
    tests: Number(total?.[1] ?? 0),
    passed: Number(total?.[2] ?? 0),
    failed,
    known: KNOWN.filter(([text]) => failed.some(each => each.includes(text))),
    unknown: failed.filter(each => !KNOWN.some(([text]) => each.includes(text))),
  }
}

function report(results) {
  const lines = results.map(({ kind, tests, passed }) => `- ${kind}: ${passed} of ${tests} passed`)
  const known = new Map(results.flatMap(each => each.known))
  for (const [text, why] of known) lines.push(`- not passed: “${text} …” – ${why}`)
  for (const { kind, unknown } of results) for (const each of unknown) lines.push(`- FAILED over ${kind}: ${each}`)
  return `${lines.join('\n')}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()

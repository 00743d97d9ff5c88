import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'
import { startGateway, type TestGateway } from '../../helpers/gateway.ts'
import { echo, startUpstream, type Upstream } from '../../helpers/upstream.ts'

const version = spawnSync('curl', ['--version'], { encoding: 'utf8' }).stdout ?? ''
const knows = (feature: string) => new RegExp(`\\b${feature}\\b`).test(version)

describe.skipIf(!knows('HTTP2'))('curl', () => {
  const authority = createAuthority('test authority')
  const { cert, key } = createCertificate(authority, ['localhost'])
  const folder = mkdtempSync(join(tmpdir(), 'curl-'))
  let upstream: Upstream
  let gateway: TestGateway
  beforeAll(async () => {
    writeFileSync(join(folder, 'ca.pem'), authority.cert)
    upstream = await startUpstream(echo)
    const routes = `routes: [{backends: [{host: '${upstream.host}', policies: {http: {version: HTTP/1.1}}}]}]`
    gateway = await startGateway(
      `binds: [{port: 80, listeners: [{${routes}}]}, {port: 443, listeners: [{protocol: HTTPS, tls: {cert: cert.pem, key: key.pem}, ${routes}}]}]`,
      { files: { 'cert.pem': cert, 'key.pem': key } },
    )
  })
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]()
    await upstream[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true })
  })

  /** Status and version of the reply, and the exit code. */
  const curl = (scheme: 'http' | 'https', ...flags: string[]) =>
    new Promise<string>(resolve => {
      const port = gateway.gateway.portOf(scheme === 'http' ? 80 : 443)
      const url = `${scheme}://localhost:${port}/`
      const common = ['-s', '-o', '/dev/null', '-w', '%{http_code} %{http_version}', '-m', '10']
      const to = ['--cacert', join(folder, 'ca.pem'), '--resolve', `localhost:${port}:127.0.0.1`, '-d', 'a body']
      execFile('curl', [...common, ...to, ...flags, url], (error, stdout) => {
        resolve(`${stdout}${error ? ` exit ${error.code}` : ''}`)
      })
    })

  test.each([
    ['http', [], '200 1.1'],
    // An upgrade that is not taken up leaves the request as it is.
    ['http', ['--http2'], '200 1.1'],
    ['http', ['--http2-prior-knowledge'], '200 2'],
    ['http', ['--http1.0'], '200 1.1'],
    ['https', [], '200 2'],
    ['https', ['--http2'], '200 2'],
    ['https', ['--http1.1'], '200 1.1'],
    ['https', ['--http2-prior-knowledge'], '200 2'],
  ] as const)('%s %j', async (scheme, flags, wanted) => {
    expect(await curl(scheme, ...flags)).toBe(wanted)
  })

  test.skipIf(!knows('HTTP3'))('HTTP/3 is not supported: curl falls back to HTTP/2', async () => {
    expect(await curl('https', '--http3')).toBe('200 2')
    expect(await curl('https', '--http3-only')).toMatch(/^000 0 exit /)
  })
})

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { Failure } from '../../../src/diagnostics/failure.ts'
import { serve } from '../../../src/tools/serve/serve.ts'
import { createAuthority, createCertificate } from '../../helpers/certificates.ts'

const authority = createAuthority('ca')
const { cert, key } = createCertificate(authority, ['shop.example'])
const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

const RESOURCES: Readonly<Record<string, object>> = {
  'gateway.yaml': {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'edge' },
    spec: {
      gatewayClassName: 'agentgateway',
      listeners: [{ name: 'https', port: 8443, protocol: 'HTTPS', tls: { certificateRefs: [{ name: 'cert' }] } }],
    },
  },
  'secret.yaml': {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'cert' },
    stringData: { 'tls.crt': cert, 'tls.key': key },
  },
  'kustomization.yaml': { resources: ['gateway.yaml'] },
}
const route = (status: number) => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name: 'app' },
  spec: {
    parentRefs: [{ name: 'edge' }],
    rules: [{ filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: 'a.example', statusCode: status } }] }],
  },
})

function folderOf(files: Readonly<Record<string, object>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gwctl-directory-'))
  folders.push(folder)
  for (const [name, value] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(value))
  return folder
}

function start(
  folder: string,
  more: { readonly watch?: boolean; readonly workers?: number } = {},
  reloaded = () => {},
) {
  return serve({
    file: folder,
    cwd: '/',
    env: { ADMIN_ADDR: '127.0.0.1:0', STATS_ADDR: '127.0.0.1:0', READINESS_ADDR: 'off' },
    stdin: process.stdin,
    log: { write: text => void (text.includes('configuration reloaded') && reloaded()) },
    version: 'test',
    watch: false,
    portFor: () => 0,
    refused: report => {
      throw new Error(report.diagnostics.map(({ code, message }) => `${code} ${message}`).join('\n'))
    },
    ...more,
  })
}

function statusOf(port: number): Promise<number | undefined> {
  return new Promise((done, fail) => {
    const options = { host: '127.0.0.1', port, ca: authority.cert, servername: 'shop.example', agent: false as const }
    const sent = request({ ...options, headers: { host: 'shop.example' } }, res => {
      res.resume()
      res.on('end', () => done(res.statusCode))
    })
    sent.on('error', fail)
    sent.end()
  })
}

test.each([undefined, 2])('resources from a directory serve HTTPS from memory, workers: %s', async workers => {
  const folder = folderOf({ ...RESOURCES, 'route.yaml': route(302) })
  const serving = (await start(folder, workers === undefined ? {} : { workers }))!
  const port = serving.ports.get(8443)!
  expect(await statusOf(port)).toBe(302)
  writeFileSync(join(folder, 'route.yaml'), JSON.stringify(route(301)))
  expect(await serving.reload()).toBe(true)
  expect(await statusOf(port)).toBe(301)
  await serving.stop()
})

test('a changed file is reloaded', async () => {
  const folder = folderOf({ ...RESOURCES, 'route.yaml': route(302) })
  let seen = (): void => {}
  const reloaded = new Promise<void>(done => {
    seen = done
  })
  const serving = (await start(folder, { watch: true }, () => seen()))!
  writeFileSync(join(folder, 'route.yaml'), JSON.stringify(route(308)))
  await reloaded
  expect(await statusOf(serving.ports.get(8443)!)).toBe(308)
  await serving.stop()
})

test('a directory without resources is an error', async () => {
  await expect(start(folderOf({ 'a.yaml': { binds: [] } }))).rejects.toThrow(Failure)
})

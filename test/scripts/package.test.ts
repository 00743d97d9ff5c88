import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildOptions } from '../../scripts/build.mjs'
import { assemble } from '../../scripts/package/assemble.mjs'

const temporary = mkdtempSync(join(tmpdir(), 'gwctl-package-test-'))
const prefix = join(temporary, 'prefix')
const installed = join(prefix, 'lib/node_modules/gwctl')
const config = join(temporary, 'gateway.yaml')
/** No variable of the npm that runs the tests, and nothing but the tarball to install from. */
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
  HOME: temporary,
  // npm asks the Node that it finds there.
  PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  npm_config_offline: 'true',
  npm_config_audit: 'false',
  npm_config_update_notifier: 'false',
}

let npmSaid = ''

beforeAll(async () => {
  const { metafile } = await build({ ...buildOptions(), write: false })
  const folder = join(temporary, 'package')
  assemble(folder, Object.keys(metafile.inputs))
  const [{ filename }] = JSON.parse(execFileSync('npm', ['pack', '--json', folder], { cwd: temporary, env }).toString())
  const { status, stdout, stderr } = npm('install', '--global', '--prefix', prefix, join(temporary, filename))
  npmSaid = stdout + stderr
  expect(status, npmSaid).toBe(0)
  writeFileSync(
    config,
    'config: {adminAddr: 127.0.0.1:0, statsAddr: 127.0.0.1:0, readinessAddr: 127.0.0.1:0}\nbinds: [{port: 0, listeners: [{routes: [{policies: {directResponse: {status: 200, body: hello}}}]}]}]\n',
  )
})
afterAll(() => rmSync(temporary, { recursive: true, force: true }))

test('installs a single package without warnings and stays small', () => {
  expect(npmSaid).toMatch(/added 1 package/)
  expect(npmSaid).not.toMatch(/warn/i)
  expect(existsSync(join(installed, 'node_modules'))).toBe(false)
  expect(sizeOf(installed)).toBeLessThan(25e6)
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  expect(Object.keys(manifest).filter(field => /dependencies|scripts/i.test(field))).toEqual([])
  expect(manifest).toMatchObject({ repository: {}, homepage: expect.any(String), bugs: {} })
})

test('the installed commands work', () => {
  expect(gwctl('--version').stdout).toMatch(/^gwctl \d+\.\d+\.\d+\n$/)
  expect(gwctl('validate', config)).toMatchObject({ status: 0, stderr: '' })
  expect(gwctl('trace', '--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('gwctl trace') })
  expect(gwctl('schema', 'standalone')).toMatchObject({ status: 0, stderr: '' })
  expect(gwctl('validate', join(installed, 'examples/quickstart.yaml'))).toMatchObject({ status: 0, stderr: '' })
})

test('the installed gateway serves traffic, and dump shows its config', async () => {
  const child = spawn(process.execPath, [join(installed, 'bin/run.js'), 'run', '-f', config], { env, cwd: temporary })
  try {
    const said = await untilReady(child.stderr)
    const admin = /admin server on (127\.0\.0\.1:\d+)/.exec(said)?.[1]
    expect(admin, said).toBeDefined()
    expect(gwctl('dump', 'routes', '--admin', `http://${admin}`)).toMatchObject({ status: 0, stderr: '' })
  } finally {
    child.kill('SIGINT')
    if (child.exitCode === null) await once(child, 'exit')
  }
  expect(child.exitCode).toBe(0)
})

test('every link in the docs points to a packaged file or an external URL', () => {
  const pages = ['README.md', 'CHANGELOG.md', ...readdirSync(join(installed, 'docs')).map(name => `docs/${name}`)]
  const dead = pages
    .filter(page => page.endsWith('.md'))
    .flatMap(page => {
      const links = readFileSync(join(installed, page), 'utf8').matchAll(/\]\(([^)\s#]+)/g)
      const local = [...links].map(([, target = '']) => target).filter(target => !/^[a-z]+:/i.test(target))
      return local.filter(target => !existsSync(join(installed, dirname(page), target))).map(target => [page, target])
    })
  expect(dead).toEqual([])
})

test('includes the licences of bundled packages', () => {
  const text = readFileSync(join(installed, 'THIRD-PARTY-LICENSES.txt'), 'utf8')
  for (const name of ['@oclif/core', 'yaml', 'ink', 'react', 're2js', 'jose']) expect(text).toContain(`\n${name} `)
})

function npm(...args: string[]) {
  return spawnSync('npm', args, { cwd: temporary, env, encoding: 'utf8' })
}

function gwctl(...args: string[]) {
  return spawnSync(process.execPath, [join(installed, 'bin/run.js'), ...args], {
    cwd: temporary,
    env,
    encoding: 'utf8',
  })
}

async function untilReady(stream: NodeJS.ReadableStream): Promise<string> {
  let said = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    said += chunk
    if (/^Serving .*\n/m.test(said)) break
  }
  return said
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true }).map(path => statSync(join(folder, String(path))))
  return files.reduce((sum, info) => sum + (info.isFile() ? info.size : 0), 0)
}

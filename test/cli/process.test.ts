import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import { describe, expect, onTestFinished, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }

const bin = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

async function gwctl(
  args: readonly string[],
  nodeOptions: readonly string[] = [],
  script = bin,
  env: NodeJS.ProcessEnv = {},
  cwd = process.cwd(),
) {
  const child = spawn(process.execPath, [...nodeOptions, script, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    cwd,
  })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as number, stdout, stderr }
}

/** Makes the process believe that it is another Node. */
function pretending(version: string): string[] {
  const fake = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });
    Object.defineProperty(process, 'version', { value: 'v${version}' })`
  return ['--import', `data:text/javascript,${encodeURIComponent(fake)}`]
}

const minimum = packageJson.engines.node.replace('>=', '')

test('--version prints the package version, alone or with other flags', async () => {
  const expected = { code: 0, stdout: `gwctl ${packageJson.version}\n`, stderr: '' }
  expect(await gwctl(['--version'])).toEqual(expected)
  expect(await gwctl(['--version', '-q'])).toEqual(expected)
})

test('run limits the memory of short-lived objects, unless the caller does', async () => {
  const shown =
    "data:text/javascript,console.log(process.execArgv.filter(option => /^--(max|no)-/.test(option)).join(' '))"
  const options = async (...args: readonly string[]) =>
    (await gwctl(args.slice(-1), ['--import', shown, ...args.slice(0, -1)])).stdout.split('\n').slice(0, -1)
  expect(await options('run')).toEqual(['', '--max-semi-space-size=16 --no-allocation-site-pretenuring'])
  expect(await options('--max-semi-space-size=4', 'run')).toEqual(['--max-semi-space-size=4'])
  expect((await options('version'))[0]).toBe('')
})

test('a command runs from the build', async () => {
  const { code, stdout } = await gwctl(['version', '-o', 'json'])
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ version: packageJson.version, node: process.version })
})

const OLD = ['12.22.12', '20.20.2', '22.18.0']

test.each(OLD)('Node %s hands over to the Node installed with gwctl', async version => {
  const { code, stdout, stderr } = await gwctl(['version', '-o', 'json'], pretending(version))
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout).node).not.toBe(`v${version}`)
  expect((await gwctl(['versoin'], pretending(version))).code).toBe(2)
})

test.each(OLD)('without a Node installed with gwctl, Node %s prints the requirement in one line', async version => {
  const place = mkdtempSync(join(tmpdir(), 'gwctl-bin-'))
  onTestFinished(() => rmSync(place, { recursive: true }))
  writeFileSync(join(place, 'package.json'), '{"type":"module"}')
  for (const name of ['run.js', 'own-node.js']) cpSync(join(dirname(bin), name), join(place, 'bin', name))
  const { code, stdout, stderr } = await gwctl(['version'], pretending(version), join(place, 'bin/run.js'))
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  expect(stderr).toContain(`needs Node.js ${minimum.replace(/\.0$/, '')} or newer and this is v${version}`)
  expect(stderr).toContain('npm ci')
})

test('the minimum Node version from engines is sufficient', async () => {
  expect((await gwctl(['version'], pretending(minimum))).code).toBe(0)
})

test('an old Node can parse the version check without transpilation', async () => {
  // Node 12.20 does load modules lazily and know `node:`, whatever esbuild's table says.
  const supported = { 'dynamic-import': true, 'node-colon-prefix-import': true }
  for (const name of ['run.js', 'own-node.js']) {
    const source = readFileSync(join(dirname(bin), name), 'utf8')
    const [old, current] = await Promise.all(
      ['node12.20', 'esnext'].map(target => transform(source, { target, supported })),
    )
    expect(old?.code).toBe(current?.code)
  }
})

test('a reader that closes early is not a failure', async () => {
  const child = spawn(process.execPath, [bin, '--help'], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
})

test.runIf(existsSync('/dev/full')).each([['--version'], ['version'], ['--help'], ['explain', 'GW204']])(
  'a full disk is not an internal error: %s',
  async (...argv) => {
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [bin, ...argv], { stdio: ['ignore', full, 'pipe'] })
    const [stderr, [code]] = await Promise.all([text(child.stderr as Readable), once(child, 'close')])
    closeSync(full)
    expect(stderr).toMatch(
      /^gwctl.*: cannot write the output: (?:the disk is full|ENOSPC: no space left on device, write)\.\n$/,
    )
    expect(code).toBe(3)
  },
)

test('commands that do not need the current directory work after it was removed', async () => {
  const leave = `import { mkdtempSync, rmdirSync } from 'node:fs'
    const folder = mkdtempSync(${JSON.stringify(join(tmpdir(), 'gwctl-gone-'))})
    process.chdir(folder)
    rmdirSync(folder)`
  const gone = ['--import', `data:text/javascript,${encodeURIComponent(leave)}`]
  expect(await gwctl(['explain', 'GW204'], gone)).toMatchObject({ code: 0, stderr: '' })
  const { code, stdout, stderr } = await gwctl(['validate', 'x.yaml'], gone)
  expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
  expect(stderr).toBe('gwctl validate: the current directory is gone.\nChange to one that exists.\n')
})

test('a usage error exits with 2 and leaves stdout empty', async () => {
  const { code, stdout, stderr } = await gwctl(['versoin'])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('did you mean `version`?')
})

test('without a build it runs from source, even below node_modules as in a git install', async () => {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const place = mkdtempSync(join(tmpdir(), 'gwctl-git-'))
  onTestFinished(() => rmSync(place, { recursive: true }))
  const installed = join(place, 'node_modules/gwctl')
  for (const name of ['bin', 'src', 'commands', 'package.json', 'oclif.manifest.json']) {
    cpSync(join(root, name), join(installed, name), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(installed, 'node_modules'))
  const script = join(installed, 'bin/run.js')
  const { stdout, stderr } = await gwctl(['version'], [], script)
  expect(stderr).toBe('')
  expect(stdout).toContain('commit  source')
  expect((await gwctl(['validate', join(root, 'examples/quickstart.yaml')], [], script)).code).toBe(0)
})

test('a build without the validate script falls back to its modules', async () => {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const place = mkdtempSync(join(tmpdir(), 'gwctl-older-'))
  onTestFinished(() => rmSync(place, { recursive: true }))
  for (const name of ['bin', 'dist', 'package.json', 'oclif.manifest.json']) {
    const filter = (path: string) => !path.endsWith('validate.cjs')
    cpSync(join(root, name), join(place, name), { recursive: true, filter })
  }
  const run = await gwctl(['validate', join(root, 'examples/quickstart.yaml')], [], join(place, 'bin/run.js'))
  expect(run).toMatchObject({ code: 0, stderr: '' })
})

test('the build finds changed lines with git', async () => {
  const place = mkdtempSync(join(tmpdir(), 'gwctl-since-'))
  onTestFinished(() => rmSync(place, { recursive: true }))
  const file = join(place, 'a.yaml')
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', place, '-c', 'user.email=a@test', '-c', 'user.name=a', ...args])
  writeFileSync(file, 'binds:\n- port: old\n  listeners: []\n')
  for (const args of [
    ['init', '-q'],
    ['add', '.'],
    ['commit', '-qm', 'x'],
  ])
    git(...args)
  writeFileSync(file, `${readFileSync(file, 'utf8')}- port: new\n  listeners: []\n`)
  // Not in the checkout: git trusts none that belongs to somebody else.
  const { code, stdout } = await gwctl(['validate', file, '--since', 'HEAD', '-o', 'json'], [], bin, {}, place)
  expect(code).toBe(1)
  const { diagnostics } = JSON.parse(stdout)
  expect(diagnostics.map(({ range }: { range: { start: { line: number } } }) => range.start.line)).toEqual([4])
})

describe('the V8 code cache of validate', () => {
  const quickstart = fileURLToPath(new URL('../../examples/quickstart.yaml', import.meta.url))
  const found = { code: 0, stdout: expect.stringMatching(/^✓ no problems in 1 file/), stderr: '' }

  function cache() {
    const folder = mkdtempSync(join(tmpdir(), 'gwctl-cache-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const validate = () => gwctl(['validate', quickstart], [], bin, { NODE_COMPILE_CACHE: folder })
    return { validate, kept: () => globSync(`${folder}/*/gwctl-*`) }
  }

  test('is written by the first three runs to the compile cache folder', async () => {
    const { validate, kept } = cache()
    const texts: Buffer[] = []
    for (let run = 1; run <= 4; run++) {
      expect(await validate()).toEqual(found)
      expect(kept()).toHaveLength(1)
      texts.push(readFileSync(kept()[0]!))
    }
    expect(texts.map(each => each.at(-1))).toEqual([1, 2, 3, 3])
    expect(texts[3]).toEqual(texts[2])
  })

  test.each([
    ['truncated', (file: string) => truncateSync(file, 1000)],
    ['empty', (file: string) => truncateSync(file, 0)],
    ['not a code cache', (file: string) => writeFileSync(file, Buffer.alloc(5000, 3))],
    ['damaged', (file: string) => writeFileSync(file, readFileSync(file).fill(0, 500_000, 510_000))],
  ])('is rebuilt when it is %s', async (_, spoil) => {
    const { validate, kept } = cache()
    await validate()
    const size = readFileSync(kept()[0]!).length
    spoil(kept()[0]!)
    expect(await validate()).toEqual(found)
    expect(readFileSync(kept()[0]!).at(-1)).toBe(1)
    expect(readFileSync(kept()[0]!).length).toBeGreaterThan(size / 2)
  })

  test('is optional: validate works with the cache disabled or not writable', async () => {
    expect(await gwctl(['validate', quickstart], [], bin, { NODE_DISABLE_COMPILE_CACHE: '1' })).toEqual(found)
    expect(await gwctl(['validate', quickstart], [], bin, { NODE_COMPILE_CACHE: bin })).toEqual(found)
  })
})

test.each([
  ['SIGINT', 'interrupted'],
  ['SIGTERM', 'terminated'],
] as const)('%s asks a command that handles it to stop; a second one kills it', async (signal, kind) => {
  const io = new URL('../../src/cli/io.ts', import.meta.url).href
  const script = `
    import { processIo } from ${JSON.stringify(io)}
    const signal = processIo().interruption()
    signal.addEventListener('abort', () => process.stdout.write(signal.reason.kind))
    setInterval(() => {}, 1000)
    process.stdout.write('ready')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const said = async () => String((await once(child.stdout, 'data'))[0])
  expect(await said()).toBe('ready')
  child.kill(signal)
  expect(await said()).toBe(kind)
  child.kill(signal)
  expect(await once(child, 'close')).toEqual([null, signal])
})

test('another signal listener does not see itself as the last one, and the process keeps running', async () => {
  const io = new URL('../../src/cli/io.ts', import.meta.url).href
  const script = `
    import { processIo } from ${JSON.stringify(io)}
    const signal = processIo().interruption()
    process.on('SIGTERM', () => process.stdout.write(' of ' + process.listenerCount('SIGTERM')))
    process.stdout.write(String(process.listenerCount('SIGTERM')))
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const said = async () => String((await once(child.stdout, 'data'))[0])
  expect(await said()).toBe('2')
  child.kill('SIGTERM')
  expect(await said()).toBe(' of 2')
  child.kill('SIGKILL')
})

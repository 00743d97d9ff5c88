import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { REPORT_FORMATS } from '../../src/tools/check/report.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { BAD, GOOD, Place, RESOURCE, WARNS } from './validate-place.ts'

let place: Place
beforeEach(() => {
  place = new Place()
})
afterEach(() => place.remove())

describe('the exit code', () => {
  test.each(REPORT_FORMATS)('does not depend on the format: %s', async format => {
    place.write({ 'good.yaml': GOOD, 'bad.yaml': BAD, 'warns.yaml': WARNS, 'bin.yaml': 'a\0' })
    const codes = async (...argv: string[]) => (await place.validate([...argv, '-o', format])).code
    expect(await codes('good.yaml')).toBe(0)
    expect(await codes('bad.yaml')).toBe(1)
    expect(await codes('bad.yaml', '--exit-zero')).toBe(0)
    expect(await codes('bad.yaml', '--fail-on', 'never')).toBe(0)
    expect(await codes('warns.yaml')).toBe(0)
    expect(await codes('warns.yaml', '--fail-on', 'warning')).toBe(1)
    expect(await codes('bad.yaml', 'bin.yaml')).toBe(3)
    expect(await codes('nope.yaml')).toBe(3)
    expect(await codes('bad.yaml', '--select', 'GW1')).toBe(2)
  })

  test('depends on --fail-on, not on what is shown', async () => {
    place.write({ 'warns.yaml': WARNS })
    const { code, out } = await place.validate(['warns.yaml', '--min-severity', 'error', '--fail-on', 'warning'])
    expect(code).toBe(1)
    expect(out).toBe('✓ no problems in 1 file (1 document)\n')
  })
})

describe('outputs', () => {
  test('several can be written in one run, with text on stdout by default', async () => {
    place.write({ 'bad.yaml': BAD })
    const { code, out } = await place.validate(['bad.yaml', '-o', 'sarif=a.sarif', '-o', 'junit=b.xml'])
    expect(code).toBe(1)
    expect(out).toContain('error[GW102]')
    expect(JSON.parse(place.read('a.sarif')).runs[0].results).toHaveLength(1)
    expect(place.read('b.xml')).toContain('<failure type="GW102"')
    const only = await place.validate(['-o', 'json', 'bad.yaml', '-o', 'sarif=a.sarif'])
    expect(JSON.parse(only.out).summary.errors).toBe(1)
    expect(await place.validate(['-o', 'json=-', 'bad.yaml'])).toEqual(await place.validate(['-o', 'json', 'bad.yaml']))
  })

  test('two cannot share stdout', async () => {
    place.write({ 'bad.yaml': BAD })
    const { code, err } = await place.validate(['bad.yaml', '-o', 'json', '-o', 'sarif'])
    expect(code).toBe(2)
    expect(err).toContain('json and sarif cannot both go to stdout: give one a file, -o sarif=PATH.')
  })

  test('an unwritable path exits with 3', async () => {
    place.write({ 'bad.yaml': BAD })
    const { code, err } = await place.validate(['bad.yaml', '-o', 'sarif=no/such/folder.sarif'])
    expect(code).toBe(3)
    expect(err).toContain('cannot write no/such/folder.sarif: there is no directory no/such.')
  })

  test('a GitHub workflow also gets annotations and a job summary table', async () => {
    place.write({ 'bad.yaml': BAD, 'summary.md': '# before\n' })
    const env = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: join(place.folder, 'summary.md') }
    const text = await place.validate(['bad.yaml'], { env })
    expect(text.out).toMatch(/^error\[GW102\]/)
    expect(text.out).toContain('\n::error file=bad.yaml,line=6,')
    expect(place.read('summary.md')).toMatch(/^# before\n### gwctl validate/)
    expect(place.read('summary.md')).toContain('GW102')
    const json = await place.validate(['bad.yaml', '-o', 'json'], { env })
    expect(JSON.parse(json.out).summary.errors).toBe(1)
    expect(json.err).toContain('::error file=bad.yaml')
    const asked = await place.validate(['bad.yaml', '-o', 'github'], { env })
    expect(asked.out.match(/::error/g)).toHaveLength(1)
    expect((await place.validate(['bad.yaml'])).out).not.toContain('::error')
  })

  test('--select, --ignore and --max-problems', async () => {
    place.write({ 'two.yaml': BAD.replace('port: 3000', 'port: 99999') })
    expect(await place.findings(['two.yaml'])).toEqual(['two.yaml:2 GW105', 'two.yaml:6 GW102'])
    expect(await place.findings(['two.yaml', '--select', 'GW102,GW103'])).toEqual(['two.yaml:6 GW102'])
    expect(await place.findings(['two.yaml', '--ignore', 'gw102'])).toEqual(['two.yaml:2 GW105'])
    const { out } = await place.validate(['two.yaml', '--max-problems', '1'])
    expect(out.match(/^error\[/gm)).toHaveLength(1)
    expect(out).toContain('1 more problem not shown')
    expect(out).toContain('✖ 2 errors')
    const all = await place.validate(['two.yaml', '--max-problems', '0'])
    expect(all.out.match(/^error\[/gm)).toHaveLength(2)
    expect((await place.validate(['two.yaml', '--select', 'GW1O2'])).err).toContain('did you mean `GW102`')
  })
})

describe('directories', () => {
  test('are searched for YAML and JSON, and other files are skipped, counted and listed', async () => {
    place.write({
      'k/a.yaml': GOOD,
      'k/deep/b.yml': BAD,
      'k/c.json': JSON.stringify({ llm: { models: [] } }),
      'k/d.jsonc': `{ // a comment\n  "binds": []\n}\n`,
      'k/service.yaml': RESOURCE,
      'k/compose.yaml': 'version: 3\nservices: {}\nx: 1\n'.replace('services: {}\n', ''),
      'k/list.yaml': '- a\n- b\n',
      'k/empty.yaml': '# nothing\n',
      'k/notes.txt': BAD,
      'k/.hidden/x.yaml': BAD,
      'k/node_modules/x.yaml': BAD,
    })
    const { code, out, err } = await place.validate(['k', '-v', '-o', 'json'])
    const report = JSON.parse(out)
    expect(code).toBe(1)
    expect(report.diagnostics.map(({ file, code }: { file: string; code: string }) => `${file} ${code}`)).toContain(
      'k/deep/b.yml GW102',
    )
    expect(report.summary).toMatchObject({ files: 5, documents: 5 })
    expect(report.skipped.map(({ file }: { file: string }) => file)).toEqual([
      'k/compose.yaml',
      'k/empty.yaml',
      'k/list.yaml',
    ])
    expect(err).toContain('skipped k/compose.yaml: not for the gateway: keys: version, x')
    expect((await place.validate(['k'])).out).toContain('3 skipped')
  })

  test('leave test cases to gwctl test', async () => {
    place.write({ 'k/good.yaml': GOOD, 'k/a.gwtest.yaml': 'config: good.yaml\ncases: []\n' })
    const { code, err } = await place.validate(['k', '-v'])
    expect(code).toBe(0)
    expect(err).toContain('skipped k/a.gwtest.yaml: test cases: `gwctl test` runs them')
    expect((await place.validate(['--hook', 'k/a.gwtest.yaml'])).code).toBe(0)
    expect((await place.validate(['k/a.gwtest.yaml'])).code).toBe(3)
  })

  test('skip resources of other tools one by one', async () => {
    place.write({ 'k/all.yaml': `${RESOURCE}---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\n` })
    const { code, out } = await place.validate(['k', '-o', 'json'])
    expect(code).toBe(0)
    const { summary, skipped } = JSON.parse(out)
    expect(summary).toMatchObject({ files: 1, documents: 1 })
    expect(skipped).toEqual([{ file: 'k/all.yaml', document: 2, reason: expect.stringContaining('Deployment') }])
  })

  test('without relevant files report what was skipped', async () => {
    place.write({
      'k/package.json': '{"name": "x"}',
      'k/deploy.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\n',
    })
    const { code, out, err } = await place.validate(['k'])
    expect({ code, out }).toEqual({ code: 3, out: '' })
    expect(err).toContain('there is nothing to check in k.')
    expect(err).toContain('k/package.json: not for the gateway: keys: name')
    expect(err).toContain('k/deploy.yaml (document 1): Deployment')
  })

  test('that are empty exit with 3', async () => {
    mkdirSync(join(place.folder, 'void'))
    expect((await place.validate(['void'])).code).toBe(3)
  })

  test('report findings even when another file is unreadable', async () => {
    place.write({ 'k/a.yaml': 'a\0b', 'k/b.yaml': BAD, 'k/c.yaml': Buffer.from([0x61, 0xff, 0x61]) })
    symlinkSync('nowhere', join(place.folder, 'k/dangling.yaml'))
    const { code } = await place.validate(['k'])
    expect(code).toBe(1)
    expect(await place.findings(['k'])).toEqual(['k/a.yaml:1 GW007', 'k/b.yaml:6 GW102', 'k/c.yaml:1 GW007'])
  })

  test.runIf(process.getuid?.() !== 0)('report a folder without permission', async () => {
    place.write({ 'k/a.yaml': BAD, 'k/secret/b.yaml': GOOD })
    chmodSync(join(place.folder, 'k/secret'), 0)
    const { code, out, err } = await place.validate(['k'])
    chmodSync(join(place.folder, 'k/secret'), 0o755)
    expect(code).toBe(3)
    expect(out).toContain('GW102')
    expect(err).toContain('permission denied')
  })

  test('report a circular link', async () => {
    symlinkSync('circle.yaml', join(place.folder, 'circle.yaml'))
    const { code, err } = await place.validate(['circle.yaml'])
    expect({ code, err }).toEqual({
      code: 3,
      err: 'gwctl validate: cannot read circle.yaml: its links lead in a circle.\n',
    })
  })

  test.runIf(existsSync('/dev/zero'))('reject an endless device as too large', async () => {
    const { code, err } = await place.validate(['/dev/zero'])
    expect(code).toBe(3)
    expect(err).toContain('/dev/zero is too large: it holds more than 16 MiB.')
  })

  test('are not followed through links', async () => {
    place.write({ 'k/a.yaml': GOOD })
    symlinkSync('.', join(place.folder, 'k/again'))
    expect(JSON.parse((await place.validate(['k', '-o', 'json'])).out).summary.files).toBe(1)
  })

  test('report the templates of a Helm chart as such', async () => {
    place.write({ 'chart/Chart.yaml': 'name: x\n', 'chart/templates/gw.yaml': 'binds: {{ .Values.binds }}\n' })
    const { code, err } = await place.validate(['chart'])
    expect(code).toBe(3)
    expect(err).toContain('chart/templates/gw.yaml: a template of a Helm chart: render it with `helm template`')
    const named = await place.validate(['chart/templates/gw.yaml'])
    expect(named.code).toBe(1)
    expect(named.out).toContain('error[GW004]')
  })
})

describe('files', () => {
  test('are checked once, however often they are named', async () => {
    place.write({ 'k/a.yaml': BAD })
    expect(await place.findings(['k', 'k/a.yaml', './k/a.yaml', 'k/*.yaml'])).toEqual(['k/a.yaml:6 GW102'])
  })

  test('can be matched with built-in globs', async () => {
    place.write({ 'k/a.yaml': BAD, 'k/x/b.yaml': BAD, 'k/x/c.json': '{"binds": 1}', 'other.yaml': BAD })
    expect(await place.findings(['k/**/*.yaml'])).toEqual(['k/a.yaml:6 GW102', 'k/x/b.yaml:6 GW102'])
    expect(await place.findings(['k/{a,x/b}.yaml'])).toEqual(['k/a.yaml:6 GW102', 'k/x/b.yaml:6 GW102'])
    const none = await place.validate(['k/*.yml'])
    expect(none.code).toBe(3)
    expect(none.err).toContain('k/*.yml matches no file.')
  })

  test.each([
    ['nope.yaml', 'nope.yaml does not exist.'],
    ['', 'an empty name is not a file.\nIs a variable unset?'],
    ['gatway.yaml', 'gatway.yaml does not exist: did you mean `gateway.yaml`?'],
    ['k8/x/route.yaml', 'k8/x/route.yaml does not exist (there is no k8 in'],
  ])('a missing path: %s', async (path, message) => {
    place.write({ 'gateway.yaml': GOOD, 'k8s/x/route.yaml': GOOD })
    const { code, out, err } = await place.validate([path])
    expect({ code, out }).toEqual({ code: 3, out: '' })
    expect(err).toContain(message)
  })

  test('a missing file does not hide findings in another', async () => {
    place.write({ 'bad.yaml': BAD })
    const { code, out, err } = await place.validate(['bad.yaml', 'nope.yaml'])
    expect(code).toBe(3)
    expect(out).toContain('GW102')
    expect(err).toContain('nope.yaml does not exist')
  })

  test.each([
    ['binary', Buffer.from([0, 1, 2, 3, 0]), 'is a binary file'],
    ['neither UTF-8 nor UTF-16', Buffer.from([0x61, 0xc3, 0x28]), 'is neither UTF-8 nor UTF-16 text'],
    ['larger than 16 MiB', Buffer.alloc(16 * 1024 * 1024 + 1, 0x23), 'is too large: it holds more than 16 MiB'],
  ])('%s', async (_what, bytes, message) => {
    place.write({ 'x.yaml': bytes })
    const { code, out, err } = await place.validate(['x.yaml'])
    expect({ code, out }).toEqual({ code: 3, out: '' })
    expect(err).toContain(`x.yaml ${message}`)
    expect(await place.findings(['x.yaml'])).toEqual(['x.yaml:1 GW007'])
  })

  test('an empty file is a warning', async () => {
    place.write({ 'e.yaml': '', 'c.yaml': '# only a comment\n' })
    const { code, out } = await place.validate(['e.yaml', 'c.yaml'])
    expect(code).toBe(0)
    expect(out.match(/warning\[GW006\]/g)).toHaveLength(2)
  })

  test('line endings, byte order marks and UTF-16 make no difference', async () => {
    const utf16 = Buffer.from(BAD, 'utf16le')
    place.write({
      'crlf.yaml': BAD.replaceAll('\n', '\r\n'),
      'bom.yaml': `\ufeff${BAD}`,
      'utf16.yaml': Buffer.concat([Buffer.from([0xff, 0xfe]), utf16]),
      'utf16be.yaml': Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(utf16).swap16()]),
    })
    const { out } = await place.validate(['crlf.yaml', 'bom.yaml', 'utf16.yaml', 'utf16be.yaml', '-o', 'json'])
    const places = JSON.parse(out).diagnostics.map(({ range }: { range: object }) => JSON.stringify(range))
    expect(places).toHaveLength(4)
    const lineAndColumn = places.map((text: string) => text.replace(/"offset":\d+/g, ''))
    expect(new Set(lineAndColumn).size).toBe(1)
  })

  test('a second standalone document is a mistake, while resources are combined', async () => {
    place.write({ 'two.yaml': `${GOOD}---\n${GOOD}`, 'mixed.yaml': `${BAD}---\n${RESOURCE}---\nfoo: 1\n` })
    expect(await place.findings(['two.yaml'])).toEqual(['two.yaml:8 GW008'])
    expect(await place.findings(['mixed.yaml'])).toEqual(['mixed.yaml:6 GW102', 'mixed.yaml:16 GW009'])
  })

  test.each([
    ['a Compose file', 'version: "3"\nservices: {db: {image: postgres}}\nvolumes: {a: {}}\n'],
    ['a Kong configuration', '_format_version: "3.0"\nservices: [{name: a, url: "http://a"}]\n'],
    ['a Helm chart', 'apiVersion: v2\nname: a\nversion: 1.0.0\n'],
    ['values of a Helm chart', 'replicaCount: 1\nimage: {tag: a}\nconfig: {routes: []}\n'],
    ['a Node.js package', '{"name": "a", "config": {"port": 1}, "scripts": {}}'],
    ['keys: server, worker_processes', 'server: {listen: 80}\nworker_processes: 4\n'],
    ['encrypted with SOPS', 'token: ENC[a]\nsops: {mac: a}\n'],
  ])('a named file of another tool has one finding: %s', async (words, text) => {
    place.write({ 'a.yaml': text })
    const { code, out } = await place.validate(['a.yaml', '-o', 'concise'])
    expect(code).toBe(1)
    expect(out).toMatch(/^a\.yaml:1:\d+: error GW009 .*\n✖ 1 error/)
    expect(out).toContain(words)
  })

  test('a dollar sign is a variable in standalone files only', async () => {
    place.write({
      'a.yaml': GOOD.replace('127.0.0.1:8000', '$HOST_THAT_IS_NOT_SET'),
      'r.yaml': RESOURCE.replace('name: web', 'name: web\n  annotations: {note: "${broken"}'),
    })
    expect(await place.findings(['a.yaml'])).toEqual([])
    expect(await place.findings(['a.yaml', '--tier', 'env'])).toEqual(['a.yaml:6 GW205'])
    expect(await place.findings(['r.yaml', '--tier', 'env'])).toEqual([])
  })

  test('--mode sets the kind of documents', async () => {
    place.write({ 'r.yaml': RESOURCE, 'a.yaml': 'bnids: []\n' })
    expect((await place.validate(['r.yaml', '--mode', 'standalone'])).code).toBe(1)
    expect((await place.validate(['r.yaml', '--mode', 'cluster'])).code).toBe(0)
    expect(await place.findings(['a.yaml', '--mode', 'cluster'])).toEqual(['a.yaml:1 GW009'])
    expect(await place.findings(['a.yaml'])).toEqual(['a.yaml:1 GW102'])
  })

  test('--partial turns unresolved names into notes', async () => {
    place.write({ 'a.yaml': GOOD.replace('host: 127.0.0.1:8000', 'backend: elsewhere') })
    expect((await place.validate(['a.yaml'])).code).toBe(1)
    const { code, out } = await place.validate(['a.yaml', '--partial'])
    expect(code).toBe(0)
    expect(out).toContain('info[GW20')
  })
})

describe('stdin', () => {
  test('can be given a file name', async () => {
    const { code, out } = await place.validate(['-', '--stdin-filename', 'k8s/gw.yaml', '-o', 'concise'], {
      stdin: BAD,
    })
    expect(code).toBe(1)
    expect(out).toMatch(/^k8s\/gw\.yaml:6:9: error GW102/)
    expect((await place.validate(['-', '-o', 'concise'], { stdin: BAD })).out).toMatch(/^<stdin>:6:9/)
  })

  test('can be combined with files', async () => {
    place.write({ 'a.yaml': BAD })
    expect(await place.findings(['a.yaml', '-'], { stdin: BAD })).toEqual(['<stdin>:6 GW102', 'a.yaml:6 GW102'])
  })

  test.each([[['a.yaml']], [['a.yaml', '--fix', '--diff']]])('is not opened by %j', async argv => {
    place.write({ 'a.yaml': BAD })
    const io = memoryIo({ cwd: place.folder })
    Object.defineProperty(io, 'stdin', {
      get() {
        throw new Error('opened')
      },
    })
    await main(['validate', ...argv], io, new URL('../../', import.meta.url))
    expect(io.stderr.text).not.toContain('opened')
  })
})

test('a missing path argument is a usage error', async () => {
  const { code, err } = await place.validate([])
  expect(code).toBe(2)
  expect(err).toContain('Nothing to check.')
})

test('checking writes no files', async () => {
  place.write({ 'a.yaml': BAD, 'b.yaml': WARNS })
  await place.validate(['.'])
  expect(readdirSync(place.folder)).toEqual(['a.yaml', 'b.yaml'])
  expect(place.read('a.yaml')).toBe(BAD)
})

describe('--hook', () => {
  test('silently skips unrelated files', async () => {
    place.write({ 'package.json': '{"name": "x"}', 'list.yaml': '- a\n', 'empty.yaml': '', 'logo.yaml': 'a\0' })
    const all = ['package.json', 'list.yaml', 'empty.yaml', 'logo.yaml']
    expect(await place.validate([...all, '--hook'])).toEqual({ code: 0, out: '', err: '' })
    expect(await place.validate(['--hook'])).toEqual({ code: 0, out: '', err: '' })
  })

  test('reports findings concisely', async () => {
    place.write({ 'package.json': '{"name": "x"}', 'gw.yaml': BAD, 'good.yaml': GOOD })
    const bad = await place.validate(['package.json', 'gw.yaml', '--hook'])
    expect(bad.code).toBe(1)
    expect(bad.out).toBe(
      'gw.yaml:6:9: error GW102 unknown field `hsot` in backend\n✖ 1 error in 1 file (1 document) · 1 fixable · 1 skipped\n',
    )
    expect((await place.validate(['good.yaml', '--hook'])).code).toBe(0)
  })

  test('reports a broken file only if it looks like ours', async () => {
    place.write({ 'theirs.yaml': 'a: b: c\n', 'ours.yaml': 'binds: [\n', 'route.yaml': 'kind: HTTPRoute\na: b: c\n' })
    expect(await place.findings(['theirs.yaml', '--hook'])).toEqual([])
    expect(await place.findings(['ours.yaml', '--hook'])).toEqual(['ours.yaml:1 GW001'])
    expect(await place.findings(['route.yaml', '--hook'])).toEqual(['route.yaml:2 GW001'])
  })
})

test('shows progress on a terminal when there are many files', async () => {
  place.write(Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`${i}.yaml`, i < 10 ? GOOD : RESOURCE])))
  const wait = await place.validate(['.', '--partial'], { terminal: true })
  expect(wait.err).toContain('Checking: 100 of 120 files')
  expect(wait.err).toContain('Checking resources of 110 files together')
  expect(wait.err.endsWith('\r\u001B[K')).toBe(true)
  expect((await place.validate(['.', '--partial'])).err).not.toContain('Checking')
  expect((await place.validate(['0.yaml'], { terminal: true })).err).not.toContain('Checking')
})

test('a code frame shows no secret next to the mistake, and no secret that is the mistake', async () => {
  const keys = '        apiKey:\n          keys:\n          - key: sk-1234\n            metdata: {}\n'
  place.write({
    'a.yaml': `binds:\n- port: 1\n  listeners:\n  - routes:\n    - policies:\n${keys}`,
    'b.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {x: c2VjcmV0, y: topsecret!}\n',
  })
  const { out } = await place.validate(['a.yaml', 'b.yaml'])
  expect(out).toContain('8 |           - key: *******\n9 |             metdata: **\n')
  expect(out).toContain('4 | data: {x: ********, y: **********}')
  expect(out).not.toMatch(/sk-1234|c2VjcmV0|topsecret/)
})

import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BAD, GOOD, Place, WARNS } from './validate-place.ts'

let place: Place
beforeEach(() => {
  place = new Place()
})
afterEach(() => place.remove())

const above = (comment: string) => WARNS.replace('            file:', `            ${comment}\n            file:`)
const beside = (comment: string) => WARNS.replace('no-such-file', `no-such-file ${comment}`)

describe('a `gwctl-ignore` comment', () => {
  test.each([
    ['on the line above', above('# gwctl-ignore GW206: made at start')],
    ['on the same line', beside('# gwctl-ignore GW206: made at start')],
    ['with other comments in between', above('# gwctl-ignore GW206: made at start\n            # more\n')],
    ['with other codes', above('# gwctl-ignore GW206: made at start')],
  ])('suppresses: %s', async (_where, text) => {
    place.write({ 'a.yaml': text })
    const { out } = await place.validate(['a.yaml', '-o', 'json'])
    const { diagnostics, suppressed, summary } = JSON.parse(out)
    expect(diagnostics).toEqual([])
    expect(suppressed).toMatchObject([{ kind: 'inSource', reason: 'made at start', diagnostic: { code: 'GW206' } }])
    expect(summary.suppressed).toBe(1)
    expect((await place.validate(['a.yaml'])).out).toBe('✓ no problems in 1 file (1 document) · 1 suppressed\n')
  })

  test('in JSON with comments', async () => {
    const text = '{\n  // gwctl-ignore GW102: see ticket 7\n  "binds": [], "bnids": []\n}\n'
    place.write({ 'a.jsonc': text })
    expect(await place.findings(['a.jsonc'])).toEqual([])
  })

  test.each([
    ['on another line', `# gwctl-ignore GW206: too far\n${WARNS}`, ['a.yaml:1 GW010', 'a.yaml:12 GW206']],
    ['with another code', above('# gwctl-ignore GW102: wrong'), ['a.yaml:11 GW010', 'a.yaml:12 GW206']],
    ['without a reason', above('# gwctl-ignore GW206'), ['a.yaml:11 GW011', 'a.yaml:12 GW206']],
    ['with an empty reason', above('# gwctl-ignore GW206:  '), ['a.yaml:11 GW011', 'a.yaml:12 GW206']],
    ['without a code', above('# gwctl-ignore: because'), ['a.yaml:11 GW011', 'a.yaml:12 GW206']],
    ['with an unknown code', above('# gwctl-ignore GW2O6: x'), ['a.yaml:11 GW011', 'a.yaml:12 GW206']],
  ])('suppresses nothing and is reported: %s', async (_what, text, found) => {
    place.write({ 'a.yaml': text })
    expect(await place.findings(['a.yaml'])).toEqual(found)
  })

  test('for several codes is reported for the one without a finding', async () => {
    place.write({ 'a.yaml': above('# gwctl-ignore GW206, GW102: made at start') })
    const { out } = await place.validate(['a.yaml', '-o', 'json'])
    const { diagnostics } = JSON.parse(out)
    expect(diagnostics).toMatchObject([
      { code: 'GW010', message: expect.stringContaining('GW102'), help: 'remove the code from the comment' },
    ])
    expect(diagnostics[0].fix).toBeUndefined()
  })

  test('that is not needed is removed by --fix', async () => {
    place.write({
      'a.yaml': `# gwctl-ignore GW206: old\n${GOOD.replace('port: 3000', 'port: 3000   # gwctl-ignore GW105: old')}`,
    })
    expect((await place.validate(['a.yaml', '--fix'])).code).toBe(0)
    expect(place.read('a.yaml')).toBe(GOOD)
  })

  test('inside a value is only text', async () => {
    const text = GOOD.replace('- routes:', `- name: 'x # gwctl-ignore GW206: y'\n    routes:`)
    place.write({ 'a.yaml': text, 'b.yaml': `config:\n  xdsAddress: |\n    # gwctl-ignore GW206: y\n    x\n` })
    expect(await place.findings(['a.yaml', 'b.yaml', '--ignore', 'GW601'])).toEqual([])
  })

  test('cannot hide that a file is unreadable, and is not reported as unused there', async () => {
    place.write({ 'a.yaml': 'a: [ # gwctl-ignore GW001: never mind\n', 'b.yaml': '# gwctl-ignore GW206: x\na: [\n' })
    expect(await place.findings(['a.yaml'])).toEqual(['a.yaml:1 GW001', 'a.yaml:1 GW011'])
    expect(await place.findings(['b.yaml'])).toEqual(['b.yaml:2 GW001'])
  })
})

const fixtures = fileURLToPath(new URL('../../fixtures/cli/', import.meta.url))

test.each(readdirSync(`${fixtures}err`))('fixtures/cli/err/%s has its finding', async name => {
  expect(await place.findings([`${fixtures}err/${name}`])).toContainEqual(expect.stringContaining(name.split('.')[0]!))
})

test.each(readdirSync(`${fixtures}ok`))('fixtures/cli/ok/%s has no finding', async name => {
  expect(await place.findings([`${fixtures}ok/${name}`])).toEqual([])
})

describe('--baseline', () => {
  test('hides known findings even after they moved, and reports new ones', async () => {
    place.write({ 'k/a.yaml': BAD })
    const written = await place.validate(['k', '--write-baseline'])
    expect(written).toEqual({ code: 0, out: '', err: 'Wrote 1 finding to .gwctl-baseline.json.\n' })
    place.write({ 'k/a.yaml': `# one line more\n${BAD.replace('3000', '99999')}` })
    const { code, out } = await place.validate(['k', '--baseline', '.gwctl-baseline.json', '-o', 'json'])
    expect(code).toBe(1)
    const { diagnostics, suppressed } = JSON.parse(out)
    expect(diagnostics.map(({ code }: { code: string }) => code)).toEqual(['GW105'])
    expect(suppressed).toMatchObject([{ kind: 'external', reason: 'known to .gwctl-baseline.json' }])
    const sarif = JSON.parse((await place.validate(['k', '--baseline', '.gwctl-baseline.json', '-o', 'sarif'])).out)
    expect(sarif.runs[0].results.map((each: { suppressions?: unknown[] }) => each.suppressions?.length ?? 0)).toEqual([
      0, 1,
    ])
  })

  test('counts findings: a second one of the same kind is new', async () => {
    const two = 'binds:\n- port: 1\n  listeners:\n  - routes: []\n    hsot: 1\n'
    place.write({ 'a.yaml': two })
    await place.validate(['a.yaml', '--write-baseline=b.json'])
    expect((await place.validate(['a.yaml', '--baseline', 'b.json'])).code).toBe(0)
    place.write({ 'b.yaml': two })
    expect((await place.validate(['b.yaml', '--baseline', 'b.json'])).code).toBe(1)
  })

  test('reports entries that no longer occur', async () => {
    place.write({ 'a.yaml': BAD })
    await place.validate(['a.yaml', '--write-baseline=b.json'])
    place.write({ 'a.yaml': GOOD })
    expect((await place.validate(['a.yaml', '--baseline', 'b.json'])).err).toContain(
      '1 entry of the baseline no longer occur',
    )
  })

  test('works from any directory', async () => {
    place.write({ 'k/a.yaml': BAD })
    await place.validate(['k/a.yaml', '--write-baseline=k/b.json'])
    const inside = { cwd: join(place.folder, 'k') }
    expect((await place.validate(['a.yaml', '--baseline', 'b.json'], inside)).code).toBe(0)
  })

  test.each([
    ['missing', undefined, 'no such file'],
    ['not JSON', 'version: 1', 'it is not JSON'],
    ['another version', '{"version": 2, "findings": []}', 'not a baseline of this version'],
    ['another shape', '{"version": 1, "findings": [{"file": 1}]}', 'not a baseline of this version'],
    ['null', 'null', 'not a baseline of this version'],
  ])('is rejected if unusable: %s', async (_what, text, message) => {
    place.write({ 'a.yaml': GOOD, ...(text === undefined ? {} : { 'b.json': text }) })
    const { code, err } = await place.validate(['a.yaml', '--baseline', 'b.json'])
    expect(code).toBe(3)
    expect(err).toContain(message)
  })
})

describe('.gwctl.yaml', () => {
  test('in the nearest parent folder sets severities', async () => {
    place.write({
      '.gwctl.yaml': 'rules:\n  GW206: error\n',
      'a.yaml': WARNS,
      'k/.gwctl.yaml': 'rules:\n  GW206: off\n',
      'k/deep/a.yaml': WARNS,
    })
    expect((await place.validate(['a.yaml'])).out).toContain('error[GW206]')
    expect((await place.validate(['k/deep/a.yaml'])).out).toBe('✓ no problems in 1 file (1 document)\n')
    expect((await place.validate(['a.yaml', '--no-config'])).out).toContain('warning[GW206]')
  })

  test('ignores files in directories and hooks, but not files named explicitly', async () => {
    place.write({
      '.gwctl.yaml': "ignore: ['old/**', '*.gen.yaml']\n",
      'old/x/a.yaml': BAD,
      'b.gen.yaml': BAD,
      'c.yaml': GOOD,
    })
    const { code, err } = await place.validate(['.', '-v'])
    expect(code).toBe(0)
    expect(err).toContain('skipped old/x/a.yaml: ignored by the settings')
    expect((await place.validate(['b.gen.yaml'])).code).toBe(1)
    expect(await place.validate(['b.gen.yaml', '--hook'])).toEqual({ code: 0, out: '', err: '' })
  })

  test('overrides rules for some files, and extends other settings', async () => {
    place.write({
      'base/strict.yaml': 'rules: {GW206: error, GW102: warning}\n',
      '.gwctl.yaml': "extends: base/strict.yaml\noverrides:\n- files: ['legacy/*.yaml']\n  rules: {GW206: info}\n",
      'a.yaml': WARNS,
      'legacy/a.yaml': WARNS,
      'legacy/b.yaml': BAD,
    })
    expect((await place.validate(['a.yaml'])).out).toContain('error[GW206]')
    expect((await place.validate(['legacy/a.yaml'])).out).toContain('info[GW206]')
    expect((await place.validate(['legacy/b.yaml'])).out).toContain('warning[GW102]')
  })

  test.each([
    ['an unknown key', 'rulse: {}\n', '.gwctl.yaml:1 GW102'],
    ['an unknown code', 'rules: {GW999: off}\n', '.gwctl.yaml:1 GW106'],
    ['a code that cannot be disabled', 'rules: {GW001: off}\n', '.gwctl.yaml:1 GW106'],
    ['an unknown severity', 'rules: {GW206: warn}\n', '.gwctl.yaml:1 GW104'],
    ['a missing file to extend', 'extends: nope.yaml\n', '.gwctl.yaml:1 GW207'],
    ['settings that extend themselves', 'extends: [.gwctl.yaml]\n', '.gwctl.yaml:1 GW210'],
    ['a list', '- a\n', '.gwctl.yaml:1 GW101'],
    ['invalid YAML', 'rules: [\n', '.gwctl.yaml:1 GW001'],
  ])('with a mistake is a finding: %s', async (_what, text, found) => {
    place.write({ '.gwctl.yaml': text, 'a.yaml': GOOD })
    const { code, out } = await place.validate(['a.yaml'])
    expect(code).toBe(1)
    expect(out).toContain('--> .gwctl.yaml:1:')
    expect(await place.findings(['a.yaml'])).toEqual([found])
    expect((await place.validate(['a.yaml', '--no-config'])).code).toBe(0)
  })

  test('changes nothing when empty, and a mistake leaves the rest in effect', async () => {
    place.write({ '.gwctl.yaml': '', 'a.yaml': WARNS })
    expect(await place.findings(['a.yaml'])).toEqual(['a.yaml:11 GW206'])
    place.write({ '.gwctl.yaml': 'rules: {GW206: off, GW999: off}\n' })
    expect(await place.findings(['a.yaml'])).toEqual(['.gwctl.yaml:1 GW106'])
  })
})

describe('--since', () => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@example.com', ...args], {
      cwd: place.folder,
      stdio: 'pipe',
    })

  test('reports only changed lines, and all of a new file', async () => {
    const broken = BAD.replace('port: 3000', 'port: 99999')
    place.write({ 'k/a b.yaml': broken, 'k/same.yaml': broken })
    git('init', '-q')
    git('add', '.')
    git('commit', '-qm', 'first')
    expect(await place.findings(['k', '--since', 'HEAD'])).toEqual([])
    place.write({ 'k/a b.yaml': `# moved\n${broken.replace('99999', '99998')}`, 'k/new.yaml': BAD })
    expect(await place.findings(['k', '--since', 'HEAD'])).toEqual(['k/a b.yaml:3 GW105', 'k/new.yaml:6 GW102'])
    git('add', '.')
    git('commit', '-qm', 'second')
    expect(await place.findings(['k', '--since', 'HEAD~1'])).toEqual(['k/a b.yaml:3 GW105', 'k/new.yaml:6 GW102'])
    expect((await place.validate(['k/same.yaml', '--since', 'HEAD~1'])).code).toBe(0)
  })

  test.each([['no-such-revision'], ['--output=x'], ['-x']])('rejects an invalid revision: %s', async revision => {
    place.write({ 'a.yaml': BAD })
    git('init', '-q')
    const { code, err } = await place.validate(['a.yaml', `--since=${revision}`])
    expect(code).toBe(2)
    expect(err).toContain(revision)
  })

  test('fails outside a repository', async () => {
    place.write({ 'a.yaml': BAD })
    const { code, err } = await place.validate(['a.yaml', '--since', 'HEAD'], {})
    expect(code).toBe(2)
    expect(err).toContain('is in no git repository')
  })
})

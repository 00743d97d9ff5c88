import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BAD, GOOD, Place } from './validate-place.ts'

let place: Place
beforeEach(() => {
  place = new Place()
})
afterEach(() => place.remove())

/** One fix that is safe (the name is quoted) and one that is not (a value is replaced). */
const BOTH = `binds:
- port: 3000
  listeners:
  - name: 5   # kept
    protocol: HTPP # and this
    routes: []
`

describe('--fix', () => {
  test('applies safe fixes, keeps every other byte and reports what it did', async () => {
    place.write({ 'a.yaml': BOTH })
    const { code, err } = await place.validate(['--fix', 'a.yaml'])
    expect(place.read('a.yaml')).toBe(BOTH.replace('name: 5', 'name: "5"'))
    expect(err).toBe('fixed a.yaml:4 GW101: quote the value\n')
    expect(code).toBe(1)
  })

  test('quotes a number exactly as written', async () => {
    const file = (model: string) => `llm: {models: [{name: ${model}, provider: openAI}]}\n`
    for (const model of ['1.10', '0123', '0x1F', '1e3', '.5']) {
      place.write({ 'a.yaml': file(model) })
      await place.validate(['--fix', 'a.yaml'])
      expect(place.read('a.yaml')).toBe(file(`"${model}"`))
    }
  })

  test('leaves a tagged number alone', async () => {
    const text = 'llm: {models: [{name: !!int 5, provider: openAI}]}\n'
    place.write({ 'a.yaml': text })
    expect((await place.validate(['--fix=all', 'a.yaml'])).code).toBe(1)
    expect(place.read('a.yaml')).toBe(text)
  })

  test('=all also applies what may change the meaning', async () => {
    place.write({ 'a.yaml': BOTH })
    const { code, out } = await place.validate(['--fix=all', 'a.yaml'])
    expect(place.read('a.yaml')).toBe(BOTH.replace('name: 5', 'name: "5"').replace('HTPP', 'HTTP'))
    expect({ code, out }).toEqual({ code: 0, out: '✓ no problems in 1 file (1 document)\n' })
  })

  test.each([
    ['CRLF', (text: string) => Buffer.from(text.replaceAll('\n', '\r\n'))],
    ['a byte order mark', (text: string) => Buffer.from(`\ufeff${text}`)],
    ['UTF-16', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')],
    ['UTF-16 big-endian', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
    ['UTF-16 without a byte order mark', (text: string) => Buffer.from(text, 'utf16le')],
  ])('keeps the encoding: %s', async (_what, encode) => {
    place.write({ 'a.yaml': encode(BAD) })
    expect((await place.validate(['--fix=all', 'a.yaml'])).code).toBe(0)
    expect(readFileSync(join(place.folder, 'a.yaml'))).toEqual(encode(GOOD))
  })

  test('keeps permissions and links, and leaves no extra files', async () => {
    place.write({ 'real.yaml': BAD })
    chmodSync(join(place.folder, 'real.yaml'), 0o640)
    symlinkSync('real.yaml', join(place.folder, 'a.yaml'))
    await place.validate(['--fix=all', 'a.yaml'])
    expect(place.read('real.yaml')).toBe(GOOD)
    expect(lstatSync(join(place.folder, 'a.yaml')).isSymbolicLink()).toBe(true)
    expect(statSync(join(place.folder, 'real.yaml')).mode & 0o777).toBe(0o640)
    expect(readdirSync(place.folder)).toEqual(['a.yaml', 'real.yaml'])
  })

  test('also applies a fix revealed by another fix', async () => {
    place.write({ 'a.yaml': 'bnids:\n- prot: 3000\n  listeners:\n  - routes: []\n' })
    const { code, err } = await place.validate(['--fix=all', 'a.yaml'])
    expect(place.read('a.yaml')).toBe('binds:\n- port: 3000\n  listeners:\n  - routes: []\n')
    expect(err).toContain('a.yaml:1 GW102')
    expect(err).toContain('a.yaml:2 GW102')
    expect(code).toBe(0)
  })

  test('changes only files with something to fix, and only reported problems', async () => {
    place.write({ 'good.yaml': GOOD, 'bad.yaml': BAD })
    const before = statSync(join(place.folder, 'good.yaml')).ino
    await place.validate(['--fix=all', '.', '--ignore', 'GW102'])
    expect(place.read('bad.yaml')).toBe(BAD)
    await place.validate(['--fix=all', '.'])
    expect(place.read('bad.yaml')).toBe(GOOD)
    expect(statSync(join(place.folder, 'good.yaml')).ino).toBe(before)
  })

  test('is included in the JSON report', async () => {
    place.write({ 'bad.yaml': BAD })
    const { out } = await place.validate(['--fix=all', 'bad.yaml', '-o', 'json'])
    expect(JSON.parse(out).fixed).toEqual([{ code: 'GW102', file: 'bad.yaml', line: 6, title: 'rename to `host`' }])
  })

  test('on stdin prints the text to stdout and the report to stderr', async () => {
    const fixed = await place.validate(['--fix=all', '-'], { stdin: BAD })
    expect(fixed).toEqual({
      code: 0,
      out: GOOD,
      err: 'fixed <stdin>:6 GW102: rename to `host`\n✓ no problems in 1 file (1 document)\n',
    })
    expect((await place.validate(['--fix', '-'], { stdin: GOOD })).out).toBe(GOOD)
  })

  test('fails in a read-only folder', async () => {
    place.write({ 'k/bad.yaml': BAD })
    chmodSync(join(place.folder, 'k'), 0o555)
    const { code, err } = await place.validate(['--fix=all', 'k/bad.yaml'])
    chmodSync(join(place.folder, 'k'), 0o755)
    if (process.getuid?.() === 0) return
    expect(code).toBe(3)
    expect(err).toContain('cannot write k/bad.yaml')
  })
})

describe('--diff', () => {
  test('prints what would change, writes nothing, and exits with 1', async () => {
    place.write({ 'bad.yaml': BAD, 'good.yaml': GOOD })
    const { code, out, err } = await place.validate(['--diff', '--fix=all', 'bad.yaml', 'good.yaml'])
    expect(out).toBe(`--- bad.yaml
+++ bad.yaml
@@ -3,4 +3,4 @@
   listeners:
   - routes:
     - backends:
-      - hsot: 127.0.0.1:8000
+      - host: 127.0.0.1:8000
`)
    expect(err).toBe('1 problem would be fixed in 1 file.\n')
    expect(code).toBe(1)
    expect(place.read('bad.yaml')).toBe(BAD)
  })

  test('hides secrets, and then says that it is not a patch', async () => {
    const text = 'mcp:\n  targets:\n  - nmae: a\n    stdio:\n      cmd: a\n      env: {TOKEN: sk-1234}\n'
    place.write({ 'bad.yaml': text })
    const { out, err } = await place.validate(['--diff', '--fix=all', 'bad.yaml'])
    expect(out).toContain('-  - nmae: a\n+  - name: a\n     stdio:\n       cmd: a\n       env: {TOKEN: *******}\n')
    expect(err).toContain('Its secrets are `*`: apply it with `--fix`, not as a patch.\n')
    await place.validate(['--fix=all', 'bad.yaml'])
    expect(place.read('bad.yaml')).toBe(text.replace('nmae', 'name'))
  })

  test('reports when there is nothing to change', async () => {
    place.write({ 'good.yaml': GOOD })
    expect(await place.validate(['--diff', 'good.yaml'])).toEqual({
      code: 0,
      out: '',
      err: '0 problems would be fixed in 0 files.\n',
    })
  })
})

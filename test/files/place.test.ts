import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { leadsOut, placeOf } from '../../src/files/place.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-place-'))
  mkdirSync(join(folder, 'repo/.git'), { recursive: true })
  mkdirSync(join(folder, 'repo/k/deep'), { recursive: true })
  writeFileSync(join(folder, 'outside'), '')
  writeFileSync(join(folder, 'repo/inside'), '')
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('the root for a file', () => {
  test('is the enclosing repository, wherever the command runs', () => {
    for (const cwd of ['/', join(folder, 'repo/k'), folder]) {
      expect(placeOf(join(folder, 'repo/k/deep/a.yaml'), cwd).root).toBe(join(folder, 'repo'))
    }
  })

  test('is the working directory without a repository, or the file’s own folder outside of it', () => {
    expect(placeOf('a/b.yaml', folder)).toMatchObject({ root: folder, bounds: true })
    expect(placeOf(join(folder, 'a/b.yaml'), '/')).toMatchObject({ root: join(folder, 'a'), bounds: false })
  })
})

describe('detecting paths that leave the root', () => {
  const link = (target: string, name = 'link') => {
    symlinkSync(target, join(folder, 'repo', name))
    return leadsOut(join(folder, 'repo', name), { root: join(folder, 'repo') })
  }

  test.each([
    ['a file next to the repository', '../outside', true],
    ['a missing file outside the repository', '../not-there', true],
    ['a folder', '..', true],
    ['a device', '/dev/zero', true],
    ['itself', 'link', true],
    ['a file inside the repository', 'k/../inside', false],
    ['a missing file inside the repository', 'k/not-there', false],
    ['a path below a file', 'inside/below', false],
  ])('a link to %s', (_what, target, out) => {
    expect(link(target)).toBe(out)
  })

  test('a file below a symlinked folder and one behind two symlinks', () => {
    expect(link('..')).toBe(true)
    expect(leadsOut(join(folder, 'repo/link/not-there'), { root: join(folder, 'repo') })).toBe(true)
    expect(link('link/outside', 'second')).toBe(true)
  })

  test('names that merely start with the root’s name', () => {
    mkdirSync(join(folder, 'repository'))
    expect(leadsOut(join(folder, 'repository/a'), { root: join(folder, 'repo') })).toBe(true)
    expect(leadsOut(join(folder, 'repo/..a'), { root: join(folder, 'repo') })).toBe(false)
  })

  test('a root reached through a symlink contains its own files', () => {
    symlinkSync('repo', join(folder, 'alias'))
    expect(leadsOut(join(folder, 'alias/inside'), { root: join(folder, 'alias') })).toBe(false)
  })
})

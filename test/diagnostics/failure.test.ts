import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cannotRead, cannotWrite } from '../../src/diagnostics/failure.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-failure-'))
  mkdirSync(join(folder, 'directory'))
  writeFileSync(join(folder, 'file'), '')
  symlinkSync('circle', join(folder, 'circle'))
  symlinkSync('nowhere/x', join(folder, 'dangling'))
})

afterAll(() => rmSync(folder, { recursive: true }))

function errorOf(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('it has worked')
}

describe('reasons why a file cannot be written', () => {
  test.each([
    ['missing/x', 'there is no directory missing'],
    ['file/x', 'the part before the last / is not a directory'],
    ['directory', 'it is a directory'],
    ['circle', 'its links lead in a circle'],
    ['dangling', 'no file can be made there'],
    ['x'.repeat(300), 'its name is too long'],
  ])('%s', (path, why) => {
    const { kind, message } = cannotWrite(
      path,
      errorOf(() => writeFileSync(join(folder, path), 'x')),
    )
    expect({ kind, message }).toEqual({ kind: 'input', message: `cannot write ${path}: ${why}.` })
  })

  test('any other system error is passed on', () => {
    expect(cannotWrite('x', new Error('EWEIRD: it rains')).message).toBe('cannot write x: EWEIRD: it rains.')
  })
})

describe('reasons why a file cannot be read', () => {
  test.each([
    ['missing', 'there is no such file'],
    ['file/x', 'there is no such file'],
    ['directory', 'it is a directory'],
    ['circle', 'its links lead in a circle'],
  ])('%s', (path, why) => {
    const { kind, message } = cannotRead(
      path,
      errorOf(() => readFileSync(join(folder, path))),
    )
    expect({ kind, message }).toEqual({ kind: 'input', message: `cannot read ${path}: ${why}.` })
  })
})

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readIfRegular, readRegularFile } from '../../src/files/read-file.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-read-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const linux = process.platform === 'linux'

test('reads a regular file completely, up to the limit', () => {
  const path = join(folder, 'a')
  writeFileSync(path, 'x'.repeat(100))
  expect(readRegularFile(path, 100)).toHaveLength(100)
  expect(() => readRegularFile(path, 99)).toThrow('too large')
  writeFileSync(path, '')
  expect(readRegularFile(path)).toHaveLength(0)
})

test('reads neither a folder nor a sparse file of 20 GB', () => {
  mkdirSync(join(folder, 'd'))
  expect(() => readRegularFile(join(folder, 'd'))).toThrow('directory')
  writeFileSync(join(folder, 'huge'), '')
  truncateSync(join(folder, 'huge'), 20 * 2 ** 30)
  expect(() => readRegularFile(join(folder, 'huge'))).toThrow('too large')
  expect(readIfRegular(join(folder, 'huge'))).toBeUndefined()
})

test.runIf(linux)('refuses a pipe without a writer, and devices, at once', () => {
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  for (const path of [pipe, '/dev/zero', '/dev/null', '/dev/tty']) expect(readIfRegular(path)).toBeUndefined()
  expect(() => readRegularFile(pipe)).toThrow('not a regular file')
})

test.runIf(linux)('stops at the limit for a file that reports no size', () => {
  // Files of /proc have no size; this one holds more than it is allowed to.
  expect(() => readRegularFile('/proc/self/maps', 100)).toThrow('too large')
  expect(readRegularFile('/proc/self/status').toString()).toContain('Name:')
})

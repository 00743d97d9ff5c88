import { watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { Failure } from '../../src/diagnostics/failure.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { BAD, GOOD, Place } from './validate-place.ts'

let place: Place
beforeEach(() => {
  place = new Place()
})
afterEach(() => {
  vi.useRealTimers()
  place.remove()
})

test.each([
  ['a file', ['a.yaml']],
  ['a directory', ['.']],
  ['a glob', ['*.yaml']],
])('--watch checks %s again on every change and ends with a signal', async (_what, paths) => {
  place.write({ 'a.yaml': BAD })
  const io = memoryIo({ cwd: place.folder, terminal: true, env: { NO_COLOR: '1' } })
  const ended = main(['validate', '--watch', ...paths], io, new URL('../../', import.meta.url))
  await until(() => io.stderr.text.includes('Waiting for changes'))
  expect(io.stdout.text).toMatch(`\u001B[2J\u001B[3J\u001B[Herror[GW102]`)
  writeFileSync(join(place.folder, 'a.yaml'), GOOD)
  await until(() => io.stdout.text.includes('no problems'))
  io.stop.abort(new Failure('interrupted', 'stopped by SIGINT'))
  expect(await ended).toBe(130)
})

test('--watch waits for a file that is temporarily missing', async () => {
  place.write({ 'k/a.yaml': '' })
  const io = memoryIo({ cwd: place.folder })
  const ended = main(['validate', '--watch', 'k/b.yaml'], io, new URL('../../', import.meta.url))
  await until(() => io.stderr.text.includes('k/b.yaml does not exist'))
  place.write({ 'k/b.yaml': GOOD })
  await until(() => io.stdout.text.includes('no problems'))
  expect(io.stdout.text).not.toContain('\u001B')
  io.stop.abort(new Failure('terminated', 'stopped by SIGTERM'))
  expect(await ended).toBe(143)
})

test.each([
  ['validate', '.', '-o', 'text', '-o', 'sarif=found.sarif', '-o', 'json=last.json'],
  ['test', '.', '-o', 'text', '-o', 'junit=found.xml', '--coverage=lcov', '--coverage=json=last.json'],
])('%s --watch is not triggered by its own reports', async (...argv) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  place.write({
    'a.yaml': GOOD,
    'a.gwtest.yaml': 'config: a.yaml\ncases: [{name: one, request: {path: /}, expect: {}}]\n',
  })
  const seen = new Set<string | null>()
  const observer = watch(place.folder, { recursive: true }, (_event, name) => seen.add(name))
  const io = memoryIo({ cwd: place.folder })
  const ended = main([...argv, '--watch'], io, new URL('../../', import.meta.url))
  await until(() => io.stderr.text.includes('Waiting for changes') && seen.has('last.json'))
  await new Promise(resolve => setImmediate(resolve))
  // A change would be waited upon for a while.
  expect(vi.getTimerCount()).toBe(0)

  place.write({ 'b.yaml': GOOD })
  await until(() => vi.getTimerCount() > 0)
  vi.runAllTimers()
  await until(() => io.stderr.text.match(/Waiting for changes/g)?.length === 2)
  io.stop.abort(new Failure('interrupted', 'stopped by SIGINT'))
  expect(await ended).toBe(130)
  observer.close()
})

/** Polls: what the file system tells, it tells when it likes. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setImmediate(resolve))
}

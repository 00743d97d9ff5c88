import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { BINDINGS } from '../../src/tools/trace/keys.ts'
import { memoryIo } from '../cli/memory-io.ts'
import { docPage } from '../helpers/doc-page.ts'

const root = new URL('../../', import.meta.url)
const page = docPage('trace.md')

test('docs/trace.md shows the actual screen', () => {
  const picture = readFileSync(new URL('test/tools/trace/screens/80x24/refused.txt', root), 'utf8').trimEnd()
  expect(page.shown).toContain(`${picture}\n`)
})

test('docs/trace.md lists exactly the existing key bindings', () => {
  const rows = [...page.text.matchAll(/^\| (`.*`) \| (.*) \|$/gm)].map(([, keys = '', what]) => ({
    keys: keys.replaceAll('`', ''),
    what,
  }))
  expect(rows).toEqual(BINDINGS.map(({ keys, what }) => ({ keys, what })))
})

test.each(page.commands)('docs/trace.md: $line', async ({ argv }) => {
  const io = memoryIo({ cwd: fileURLToPath(new URL('test/tools/trace', root)), env: { GWCTL_ADMIN: 'unix:/nobody' } })
  // Nobody answers, and nothing was recorded: whatever goes wrong, it is not the command.
  expect([3, 4]).toContain(await main(argv, io, root))
})

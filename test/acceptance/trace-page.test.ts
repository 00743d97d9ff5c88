import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { BINDINGS } from '../../src/tools/trace/keys.ts'
import { memoryIo } from '../cli/memory-io.ts'

const root = new URL('../../', import.meta.url)
const page = readFileSync(new URL('docs/trace.md', root), 'utf8')

/** The words of a line as a shell takes them, without its redirections and what it pipes to. */
function wordsOf(line: string): string[] {
  const [command = ''] = line.split(/ [|>] /)
  return execFileSync('sh', ['-c', `printf '%s\\0' ${command}`], { encoding: 'utf8' })
    .split('\0')
    .slice(1, -1)
}

test('the picture in docs/trace.md is what is shown', () => {
  const picture = readFileSync(new URL('test/tools/trace/screens/80x24/refused.txt', root), 'utf8').trimEnd()
  expect(page).toContain(`\`\`\`\n${picture}\n\`\`\``)
})

test('docs/trace.md has every key, and no other', () => {
  const rows = [...page.matchAll(/^\| (`.*`) \| (.*) \|$/gm)].map(([, keys = '', what]) => ({
    keys: keys.replaceAll('`', ''),
    what,
  }))
  expect(rows).toEqual(BINDINGS.map(({ keys, what }) => ({ keys, what })))
})

const commands = [...page.matchAll(/^gwctl .*$/gm)].map(([line]) => line.replace(/ +# .*$/, ''))

test.each(commands)('docs/trace.md: %s', async line => {
  const io = memoryIo({ cwd: fileURLToPath(new URL('test/tools/trace', root)), env: { GWCTL_ADMIN: 'unix:/nobody' } })
  // Nobody answers, and nothing was recorded: whatever goes wrong, it is not the command.
  expect([3, 4]).toContain(await main(wordsOf(line), io, root))
})

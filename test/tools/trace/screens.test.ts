import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test, vi } from 'vitest'
import type { Recording } from '../../../src/tools/events/recording.ts'
import { browseRecording } from '../../../src/tools/trace/interactive.ts'
import { FakeKeyboard, FakeScreen } from '../../helpers/fake-terminal.ts'

// Ink's colours are decided when it loads, for the real stdout; ours are what is tested here.
vi.hoisted(() => {
  process.env.FORCE_COLOR = '1'
})

/**
 * What `gwctl trace -f trace.jsonl` shows after some keys, in three sizes. `node scripts/interop/screens.mjs` holds a real
 * terminal to the same files. To write them anew: `vitest run test/tools/trace/screens.test.ts -u`, then look at them.
 */
interface Scene {
  readonly name: string
  readonly keys: readonly string[]
  readonly recording?: 'none'
  readonly size?: readonly [columns: number, rows: number]
}

const folder = fileURLToPath(new URL('./screens', import.meta.url))
const scenes = JSON.parse(readFileSync(join(folder, 'scenes.json'), 'utf8')) as readonly Scene[]
const recorded = readFileSync(join(folder, 'trace.jsonl'), 'utf8').trim().split('\n')
const SIZES = [
  [80, 24],
  [120, 40],
  [200, 60],
] as const
const KEYS: Readonly<Record<string, string>> = { Tab: '\t', Enter: '\r', Escape: '\u001b' }

const elsewhere = mkdtempSync(join(tmpdir(), 'gwctl-screens-'))
afterAll(() => rmSync(elsewhere, { recursive: true }))

/** What the file holds that a scene is compared with. */
function drawn(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, 'utf8').slice(0, -1) : undefined
}

async function shownAfter(
  { keys, recording }: Scene,
  [columns, rows]: readonly [number, number],
  expected: string | undefined,
  colors = false,
) {
  const screen = new FakeScreen(columns, rows)
  const keyboard = new FakeKeyboard()
  const never = new AbortController()
  const texts: Recording = {
    name: 'trace.jsonl',
    close: () => never.abort(),
    texts: (async function* () {
      if (recording === 'none') await new Promise(resolve => never.signal.addEventListener('abort', resolve))
      else yield* recorded
    })(),
  }
  const ended = browseRecording(texts, {
    terminal: { stdin: keyboard, stdout: screen, colors },
    signal: new AbortController().signal,
    codeOf: () => 70,
    cwd: folder,
    env: {},
  })
  await screen.until(text => text.includes(recording === 'none' ? 'waiting for a request' : 'the trace is complete'))
  for (const key of keys) keyboard.write(KEYS[key] ?? key)
  await screen.untilShown(expected)
  const { shown, text } = screen
  keyboard.write('\u0003')
  await expect(ended).rejects.toMatchObject({ kind: 'interrupted' })
  return { shown, text }
}

describe.each(SIZES)('%ix%i', (columns, rows) => {
  test.concurrent.for(scenes.filter(({ size }) => size === undefined))('$name', async (scene, { expect }) => {
    const file = join(folder, `${columns}x${rows}`, `${scene.name}.txt`)
    const { shown } = await shownAfter(scene, [columns, rows], drawn(file))
    await expect(`${shown}\n`).toMatchFileSnapshot(file)
  })
})

test.each(scenes.filter(({ size }) => size !== undefined))('$name', async scene => {
  const file = join(folder, `${scene.name}.txt`)
  const { shown } = await shownAfter(scene, scene.size!, drawn(file))
  await expect(`${shown}\n`).toMatchFileSnapshot(file)
})

test('colours do not change the text', async () => {
  const scene = scenes.find(({ name }) => name === 'refused')!
  const plain = drawn(join(folder, '80x24', 'refused.txt'))
  const coloured = await shownAfter(scene, [80, 24], plain, true)
  expect(coloured.shown).toBe(plain)
  expect(coloured.text).toContain('\u001b[1m')
})

test('the reason for a 403 is visible in fewer than five keystrokes', () => {
  const { keys } = scenes.find(({ name }) => name === 'filter-typed')!
  expect(keys).toEqual(['/', '4', '0', '3'])
  const shown = drawn(join(folder, '80x24', 'filter-typed.txt'))
  expect(shown).toContain('POST /v1/chat/completions: 403')
  expect(shown).toContain('authorization: deny: deny request.headers["x-role"] == "contractor"')
  expect(shown).toContain('│         request.headers["x-role"] = "contractor" ')
  expect(shown).toContain('gateway.yaml:20')
  // Where there is room for one pane only, too.
  const small = scenes.find(({ name }) => name === 'small-reason')!
  expect(small).toMatchObject({ size: [40, 10], keys })
  const said = drawn(join(folder, 'small-reason.txt'))
  expect(said).toContain('✗ authorization: deny: deny\nrequest.headers["x-role"] == "contract')
  expect(said).toContain('\ngateway.yaml:20')
})

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { browseRecording } from '../../../src/tools/trace/interactive.ts'
import type { Recording } from '../../../src/tools/trace/recording.ts'
import { FakeKeyboard, FakeScreen } from '../../helpers/fake-terminal.ts'

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

async function shownAfter({ keys, recording }: Scene, [columns, rows]: readonly [number, number], colors = false) {
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
  await screen.settled()
  const { shown, text } = screen
  keyboard.write('\u0003')
  await expect(ended).rejects.toMatchObject({ kind: 'interrupted' })
  return { shown, text }
}

describe.each(SIZES)('%ix%i', (columns, rows) => {
  test.concurrent.for(scenes.filter(({ size }) => size === undefined))('$name', async (scene, { expect }) => {
    const { shown } = await shownAfter(scene, [columns, rows])
    await expect(`${shown}\n`).toMatchFileSnapshot(join(folder, `${columns}x${rows}`, `${scene.name}.txt`))
  })
})

test.each(scenes.filter(({ size }) => size !== undefined))('$name', async scene => {
  const { shown } = await shownAfter(scene, scene.size!)
  await expect(`${shown}\n`).toMatchFileSnapshot(join(folder, `${scene.name}.txt`))
})

test('colours change nothing of what stands there', async () => {
  const scene = scenes.find(({ name }) => name === 'refused')!
  const plain = await shownAfter(scene, [80, 24])
  const coloured = await shownAfter(scene, [80, 24], true)
  expect(coloured.shown).toBe(plain.shown)
})

test('the reason for a 403 is in sight in fewer than five keystrokes', async () => {
  const keys = ['/', '4', '0', '3']
  const { shown } = await shownAfter({ name: '', keys }, [80, 24])
  expect(shown).toContain('POST /v1/chat/completions: 403')
  expect(shown).toContain('authorization: deny: deny request.headers["x-role"] == "contractor"')
  expect(shown).toContain('gateway.yaml:20')
})

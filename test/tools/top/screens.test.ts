import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { Failure } from '../../../src/diagnostics/failure.ts'
import type { KeyName } from '../../../src/tools/terminal/keyboard.ts'
import { ExpositionReader } from '../../../src/tools/top/exposition.ts'
import { browseTop } from '../../../src/tools/top/interactive.ts'
import { TopSession } from '../../../src/tools/top/session.ts'
import type { Look } from '../../../src/tools/top/state.ts'
import { FakeKeyboard, FakeScreen } from '../../helpers/fake-terminal.ts'
import { PlayedGateway, type Plot } from './played-gateway.ts'

// Ink's colours are decided when it loads, for the real stdout; ours are what is tested here.
vi.hoisted(() => {
  process.env.FORCE_COLOR = '1'
})

/**
 * What `gwctl top` shows after a look, some keys and six more looks, in three sizes. `node scripts/interop/screens.mjs`
 * holds a real terminal to the same files. To write them anew: `vitest run test/tools/top/screens.test.ts -u`, then look
 * at them.
 */
interface Scene {
  readonly name: string
  /** Names as tmux has them, or characters. */
  readonly keys: readonly string[]
  readonly plot?: Plot
  readonly gone?: true
  readonly ascii?: true
  readonly size?: readonly [columns: number, rows: number]
}

const folder = fileURLToPath(new URL('./screens', import.meta.url))
const scenes = JSON.parse(readFileSync(join(folder, 'scenes.json'), 'utf8')) as readonly Scene[]
const SIZES = [
  [80, 24],
  [40, 10],
  [200, 60],
] as const
const KEYS: Readonly<Record<string, KeyName>> = { Tab: 'tab', Enter: 'enter', Escape: 'escape' }
const LOOKS = 7
const NOW = 1_700_000_000
const AROUND = { name: '127.0.0.1:15000', interval: 1000 }

function looksOf({ plot = 'busy', gone }: Scene): readonly Look[] {
  const gateway = new PlayedGateway(plot, NOW)
  const exposition = new ExpositionReader()
  const looks = Array.from({ length: LOOKS }, (_, i): Look => {
    return { at: i * 1000, time: (NOW + i) * 1000, samples: exposition.read(gateway.look(1)) }
  })
  const lost = new Failure('unreachable', 'no gateway answers at http://127.0.0.1:15000: connection refused.')
  return gone ? [...looks, { at: LOOKS * 1000, lost }] : looks
}

function shownAfter(scene: Scene, [columns, rows]: readonly [number, number]): string {
  const session = new TopSession({ ...AROUND, asciiOnly: scene.ascii === true })
  const size = { columns, rows }
  for (const [i, look] of looksOf(scene).entries()) {
    session.add(look)
    if (i > 0) continue
    for (const key of scene.keys) {
      const name = KEYS[key]
      session.press(name ? { name, text: '' } : { name: 'text', text: key }, size)
    }
  }
  const lines = session.picture(size).rows.map(row => row.map(({ text }) => text).join(''))
  return lines.map(line => `${line.trimEnd()}\n`).join('')
}

describe.each(SIZES)('%ix%i', (columns, rows) => {
  test.for(scenes.filter(({ size }) => size === undefined))('$name', async (scene, { expect }) => {
    const file = join(folder, `${columns}x${rows}`, `${scene.name}.txt`)
    await expect(shownAfter(scene, [columns, rows])).toMatchFileSnapshot(file)
  })

  test.each([false, true])('the terminal shows exactly this screen, with colours: %s', async colors => {
    const scene = scenes.find(({ name }) => name === 'all')!
    const screen = new FakeScreen(columns, rows)
    const keyboard = new FakeKeyboard()
    async function* looks(signal: AbortSignal): AsyncGenerator<Look> {
      yield* looksOf(scene)
      await new Promise(resolve => signal.addEventListener('abort', resolve))
    }
    const terminal = { stdin: keyboard, stdout: screen, colors }
    const { signal } = new AbortController()
    const ended = browseTop(looks, { ...AROUND, asciiOnly: false, terminal, signal })
    await screen.until(() => screen.shown.trimEnd() === shownAfter(scene, [columns, rows]).trimEnd())
    expect(screen.text.includes('\u001b[1m')).toBe(colors)
    keyboard.write('q')
    await ended
  })
})

test.each(scenes.filter(({ size }) => size !== undefined))('$name', async scene => {
  await expect(shownAfter(scene, scene.size!)).toMatchFileSnapshot(join(folder, `${scene.name}.txt`))
})

test('ASCII mode draws only ASCII', () => {
  const drawn = scenes.map(scene => shownAfter({ ...scene, ascii: true }, [80, 24]))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is what is meant
  for (const shown of drawn) expect(shown).toMatch(/^[\u0000-\u007f]+$/)
})

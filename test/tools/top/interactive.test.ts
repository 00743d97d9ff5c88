import { describe, expect, test } from 'vitest'
import { Failure } from '../../../src/diagnostics/failure.ts'
import { ExpositionReader } from '../../../src/tools/top/exposition.ts'
import { browseTop } from '../../../src/tools/top/interactive.ts'
import type { Look } from '../../../src/tools/top/state.ts'
import { ENTER_ALTERNATE, FakeKeyboard, FakeScreen, isRestored } from '../../helpers/fake-terminal.ts'
import { PlayedGateway } from './played-gateway.ts'

/** The view of a gateway that is looked at whenever a test says so. */
async function open({ broken }: { readonly broken?: Error } = {}) {
  const screen = new FakeScreen()
  const keyboard = new FakeKeyboard()
  const stop = new AbortController()
  const gateway = new PlayedGateway('busy', 0)
  const exposition = new ExpositionReader()
  const turns: (() => void)[] = []
  const state = { lost: false, stopped: false }
  async function* looks(signal: AbortSignal): AsyncGenerator<Look> {
    signal.addEventListener('abort', () => {
      state.stopped = true
    })
    if (broken) throw broken
    for (let i = 0; ; i++) {
      const at = i * 1000
      if (state.lost) yield { at, lost: new Failure('unreachable', 'no gateway answers here') }
      else yield { at, time: at, samples: exposition.read(gateway.look(1)) }
      await new Promise<void>(resolve => turns.push(resolve))
    }
  }
  const terminal = { stdin: keyboard, stdout: screen, colors: false }
  const options = { name: '127.0.0.1:15000', interval: 1000, asciiOnly: false, terminal, signal: stop.signal }
  const ended = browseTop(looks, options)
  // Whoever awaits it later gets the error; until then it is no unhandled rejection.
  ended.catch(() => {})
  const look = () => turns.shift()?.()
  if (broken === undefined) await screen.until(text => text.includes('measuring'))
  return { screen, keyboard, stop, ended, state, look }
}

describe('the terminal is restored', () => {
  test('after q, without an error, and polling stops', async () => {
    const { screen, keyboard, ended, state } = await open()
    expect(screen.text).toContain(ENTER_ALTERNATE)
    keyboard.write('q')
    await ended
    expect(isRestored(screen, keyboard)).toBe(true)
    expect(state.stopped).toBe(true)
  })

  test('after Ctrl-C, as an interruption', async () => {
    const { screen, keyboard, ended } = await open()
    keyboard.write('\u0003')
    await expect(ended).rejects.toMatchObject({ kind: 'interrupted' })
    expect(isRestored(screen, keyboard)).toBe(true)
  })

  test('after SIGTERM', async () => {
    const { screen, keyboard, stop, ended } = await open()
    stop.abort(new Failure('terminated', 'stopped by SIGTERM'))
    await expect(ended).rejects.toMatchObject({ kind: 'terminated' })
    expect(isRestored(screen, keyboard)).toBe(true)
  })
})

test('the terminal is not touched when no gateway responds', async () => {
  const { screen, keyboard, ended } = await open({ broken: new Failure('unreachable', 'nobody there') })
  await expect(ended).rejects.toMatchObject({ kind: 'unreachable' })
  expect([screen.text, keyboard.raw]).toEqual(['', false])
})

test('a gateway that disappears and comes back', async () => {
  const { screen, keyboard, ended, state, look } = await open()
  look()
  await screen.until(() => screen.shown.includes('every 1s'))
  state.lost = true
  look()
  await screen.until(() => /^no gateway answers here/.test(screen.shown) && screen.shown.includes('gone for 1s'))
  expect(screen.shown).toContain('default/search')
  state.lost = false
  look()
  await screen.until(() => /^127\.0\.0\.1:15000/.test(screen.shown) && screen.shown.includes('every 1s'))
  keyboard.write('q')
  await ended
})

test('redraws after a resize with as much as fits', async () => {
  const { screen, keyboard, ended } = await open()
  keyboard.write('1')
  await screen.until(() => screen.shown.includes('[1 Routes 5]'))
  screen.resize(40, 10)
  await screen.until(() => screen.shown.includes('[1 Routes 5] 2  3  4  5'))
  screen.resize(120, 30)
  await screen.until(() => screen.shown.includes('BYTES/S'))
  keyboard.write('q')
  await ended
})

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { createPatternCompiler } from '../../../src/cel/pattern.ts'
import { Failure } from '../../../src/diagnostics/failure.ts'
import { decode, INVALID } from '../../../src/schema/decode.ts'
import type { Recording } from '../../../src/tools/events/recording.ts'
import type { JobControl, JobWatcher } from '../../../src/tools/terminal/job-control.ts'
import { testFile } from '../../../src/tools/test-file/test-file.ts'
import { browseRecording } from '../../../src/tools/trace/interactive.ts'
import { ENTER_ALTERNATE, FakeKeyboard, FakeScreen, isRestored } from '../../helpers/fake-terminal.ts'
import { Recorder } from '../events/recorded-events.ts'

// Ink's colours are decided when it loads, for the real stdout; ours are what is tested here.
vi.hoisted(() => {
  process.env.FORCE_COLOR = '1'
})

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-browse-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** A recording that a test feeds, and that ends or breaks when it says so. */
class LiveRecording implements Recording {
  readonly name = '127.0.0.1:15000'
  closed = false
  #waiting: string[] = []
  #over: { readonly error?: unknown } | undefined
  #wake: () => void = () => {}

  feed(texts: readonly string[]): void {
    this.#waiting.push(...texts)
    this.#wake()
  }

  end(error?: unknown): void {
    this.#over = error === undefined ? {} : { error }
    this.#wake()
  }

  close(): void {
    this.closed = true
  }

  get texts(): AsyncIterable<string> {
    return this.#read()
  }

  async *#read(): AsyncGenerator<string> {
    for (;;) {
      yield* this.#waiting.splice(0)
      if (this.#waiting.length > 0) continue
      if (this.#over?.error !== undefined) throw this.#over.error
      if (this.#over !== undefined) return
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }
}

async function open(
  options: { columns?: number; rows?: number; colors?: boolean; job?: JobControl; env?: Record<string, string> } = {},
) {
  const screen = new FakeScreen(options.columns, options.rows)
  const keyboard = new FakeKeyboard()
  const recording = new LiveRecording()
  const stop = new AbortController()
  const ended = browseRecording(recording, {
    terminal: {
      stdin: keyboard,
      stdout: screen,
      colors: options.colors ?? false,
      ...(options.job ? { job: options.job } : {}),
    },
    signal: stop.signal,
    codeOf: error => (error instanceof Failure ? 4 : 70),
    cwd: folder,
    env: options.env ?? {},
  })
  // Whoever awaits it later gets the error; until then it is no unhandled rejection.
  ended.catch(() => {})
  await screen.until(text => text.includes('waiting for a request at 127.0.0.1:15000'))
  return { screen, keyboard, recording, stop, ended }
}

const refused = () => {
  const recorder = new Recorder()
  recorder.refused()
  return recorder.texts
}

describe('the terminal is restored', () => {
  test('after q, without an error', async () => {
    const { screen, keyboard, recording, ended } = await open()
    expect(screen.text).toContain(ENTER_ALTERNATE)
    expect(keyboard.raw).toBe(true)
    keyboard.write('q')
    await ended
    expect(isRestored(screen, keyboard)).toBe(true)
    expect(recording.closed).toBe(true)
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

  test('at once, with the reason, when the connection breaks before anything is recorded', async () => {
    const { screen, keyboard, recording, ended } = await open()
    recording.end(new Failure('unreachable', 'the connection broke'))
    await expect(ended).rejects.toMatchObject({ kind: 'unreachable' })
    expect(isRestored(screen, keyboard)).toBe(true)
  })

  test('when the terminal is closed without a signal', async () => {
    const { keyboard, recording, ended } = await open()
    keyboard.end()
    await expect(ended).rejects.toMatchObject({ kind: 'terminated' })
    expect(recording.closed).toBe(true)
  })

  test('when drawing fails', async () => {
    const { screen, keyboard, recording, ended } = await open()
    recording.feed(refused())
    // A message that is no text is the one thing that the view cannot draw.
    recording.end(Object.assign(new Error(), { message: Symbol('no text') }))
    await expect(ended).rejects.toThrow(TypeError)
    expect(isRestored(screen, keyboard)).toBe(true)
  })
})

describe('shell job control', () => {
  /** What the terminal was like while it was stopped. */
  function shell() {
    const stops: { readonly restored: boolean; readonly read: boolean }[] = []
    let told: JobWatcher | undefined
    let terminal: { screen: FakeScreen; keyboard: FakeKeyboard } | undefined
    const job: JobControl = {
      async stop() {
        const { screen, keyboard } = terminal!
        stops.push({ restored: isRestored(screen, keyboard), read: !keyboard.isPaused() })
      },
      watch(watcher) {
        told = watcher
        return () => {
          told = undefined
        }
      },
    }
    const start = async () => {
      const opened = await open({ job })
      terminal = opened
      return opened
    }
    return { stops, start, told: () => told }
  }

  test.each<[string, (keyboard: FakeKeyboard, told: JobWatcher) => void]>([
    ['Ctrl-Z', keyboard => keyboard.write('\u001a')],
    ['SIGTSTP', (_, told) => told.onStop()],
  ])('%s restores the terminal and takes it back on resume', async (_, stop) => {
    const { stops, start, told } = shell()
    const { screen, keyboard, recording, ended } = await start()
    const entered = () => screen.text.split(ENTER_ALTERNATE).length - 1
    stop(keyboard, told()!)
    await screen.until(() => entered() === 2)
    expect(stops).toEqual([{ restored: true, read: false }])
    expect(keyboard.raw).toBe(true)
    recording.feed(refused())
    await screen.until(text => text.includes('Detail: authorization'))
    keyboard.write('q')
    await ended
    expect(isRestored(screen, keyboard)).toBe(true)
    expect(told()).toBeUndefined()
  })

  test('redraws after an unannounced stop', async () => {
    const { stops, start, told } = shell()
    const { screen, keyboard, ended } = await start()
    keyboard.raw = false
    screen.write('$ fg\n'.repeat(30))
    told()?.onContinue()
    await screen.until(text => text.includes('Requests 0') && !text.includes('fg'))
    expect(keyboard.raw).toBe(true)
    expect(stops).toEqual([])
    keyboard.write('q')
    await ended
  })
})

test('shows requests and their steps as they arrive', async () => {
  const { screen, keyboard, recording, ended } = await open({ columns: 120, rows: 30 })
  recording.feed(refused())
  await screen.until(text => text.includes('authorization') && text.includes('gateway.yaml:52'))
  expect(screen.shown).toContain('recording 127.0.0.1:15000')
  keyboard.write('q')
  await ended
})

test('a broken connection keeps the recording on screen and then sets the exit code', async () => {
  const { screen, keyboard, recording, ended } = await open()
  recording.feed(refused())
  recording.end(new Failure('unreachable', 'the connection broke'))
  await screen.until(text => text.includes('exit code 4: the connection broke'))
  expect(screen.shown).toContain('/v1/chat')
  keyboard.write('q')
  await expect(ended).rejects.toMatchObject({ kind: 'unreachable' })
  expect(isRestored(screen, keyboard)).toBe(true)
})

test('a complete recording stays on screen until q', async () => {
  const { screen, keyboard, recording, ended } = await open()
  recording.feed(refused())
  recording.end()
  await screen.until(text => text.includes('the trace is complete'))
  keyboard.write('q')
  await ended
})

test('counts unreadable events', async () => {
  const { screen, keyboard, recording, ended } = await open()
  recording.feed(['{"seq":', ...refused()])
  await screen.until(text => text.includes('1 event unreadable') && text.includes('/v1/chat'))
  recording.end()
  await screen.until(text => text.includes('the trace is complete, 1 event unreadable'))
  keyboard.write('q')
  await ended
})

test('handles arrows, Tab, a typed filter and help', async () => {
  const { screen, keyboard, recording, ended } = await open()
  recording.feed(refused())
  // The whole of it: the step that is chosen follows the events until somebody moves.
  await screen.until(text => text.includes('[Requests 1]') && text.includes('Detail: authorization'))
  keyboard.write('\t')
  await screen.until(text => text.includes('[POST /v1/chat'))
  keyboard.write('\u001b[A')
  await screen.until(text => text.includes('Detail: answer'))
  keyboard.write('/rou')
  await screen.until(text => text.includes('filter pipeline: rou'))
  keyboard.write('\r')
  await screen.until(text => text.includes('Detail: route'))
  keyboard.write('?')
  await screen.until(text => text.includes('Shift-Tab'))
  keyboard.write('exit code\r')
  await ended
})

test('handles several keys arriving in one chunk', async () => {
  const { screen, keyboard, recording, ended } = await open()
  recording.feed(refused())
  await screen.until(text => text.includes('Detail: authorization'))
  keyboard.write('\tkk')
  await screen.until(text => text.includes('Detail: call'))
  keyboard.write('q')
  await ended
})

test('redraws after a resize', async () => {
  const { screen, keyboard, recording, ended } = await open()
  recording.feed(refused())
  await screen.until(text => text.includes('Detail: authorization'))
  screen.resize(40, 10)
  await screen.until(text => text.includes('[Requests 1]─────') && !text.includes('Detail'))
  expect(screen.shown.split('\n')[0]).toHaveLength(40)
  keyboard.write('q')
  await ended
})

test.each([
  [true, true],
  [false, false],
])('colours: %s', async (colors, expected) => {
  const { screen, keyboard, recording, ended } = await open({ colors })
  recording.feed(refused())
  await screen.until(text => text.includes('Detail: authorization'))
  keyboard.write('q')
  await ended
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours and styles are what is looked for
  expect(/\u001b\[[1-9][0-9;]*m/.test(screen.text)).toBe(expected)
})

test('draws ASCII on a terminal without Unicode', async () => {
  const { screen, keyboard, recording, ended } = await open({ env: { LC_ALL: 'C' } })
  recording.feed(refused())
  await screen.until(text => text.includes('> x authorization'))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: everything else than ASCII is looked for
  expect(screen.shown).not.toMatch(/[^\u0000-\u007f]/)
  keyboard.write('?')
  await screen.until(text => text.includes('j v'))
  // biome-ignore lint/suspicious/noControlCharactersInRegex: likewise
  expect(screen.shown).not.toMatch(/[^\u0000-\u007f]/)
  keyboard.write('\u0003')
  await expect(ended).rejects.toMatchObject({ kind: 'interrupted' })
})

test('a flood of events draws a limited number of frames', async () => {
  const { screen, keyboard, recording, ended } = await open()
  const recorder = new Recorder()
  recorder.start()
  for (let i = 0; i < 4000; i++) recorder.add({ type: 'cel', expression: `e${i}` })
  recorder.finish()
  let writes = 0
  screen.on('written', () => writes++)
  const before = performance.now()
  recording.feed(recorder.texts)
  await screen.until(text => text.includes('200 in 4.10 ms'))
  const frames = 5 + (performance.now() - before) / 33
  // Each frame is at most three writes: begin, content, end.
  expect(writes).toBeLessThan(frames * 3)
  keyboard.write('q')
  await ended
})

const CLIPBOARD = '\u001b]52;c;'

describe('action keys', () => {
  test('s hides steps below warning, then below error, then shows all again', async () => {
    const { screen, keyboard, recording, ended } = await open({ columns: 120 })
    recording.feed(refused())
    await screen.until(text => text.includes('listener'))
    keyboard.write('s')
    await screen.until(() => screen.shown.includes('warnings and errors'))
    expect(screen.shown).not.toContain('listener')
    expect(screen.shown).toContain('authorization')
    keyboard.write('s')
    await screen.until(() => screen.shown.includes(', errors'))
    keyboard.write('s')
    await screen.until(() => screen.shown.includes('listener'))
    keyboard.write('q')
    await ended
  })

  test('w truncates long detail lines instead of wrapping them', async () => {
    const { screen, keyboard, recording, ended } = await open({ columns: 70 })
    const recorder = new Recorder()
    recorder.add({
      type: 'requestStarted',
      method: 'GET',
      url: `http://h/${'long/'.repeat(40)}end`,
      source: 'c',
      time: '',
    })
    recording.feed(recorder.texts)
    await screen.until(() => screen.shown.includes('long/end'))
    keyboard.write('w')
    await screen.until(() => !screen.shown.includes('long/end'))
    keyboard.write('q')
    await ended
  })

  test('y copies the event to the terminal’s clipboard', async () => {
    const { screen, keyboard, recording, ended } = await open()
    recording.feed(refused())
    await screen.until(text => text.includes('authorization'))
    keyboard.write('y')
    await screen.until(text => text.includes(CLIPBOARD))
    const [, after = ''] = screen.text.split(CLIPBOARD)
    const base64 = after.slice(0, after.indexOf('\u0007'))
    expect(parse(Buffer.from(base64, 'base64').toString())).toMatchObject({ message: { type: 'authorization' } })
    keyboard.write('q')
    await ended
  })

  test('t saves the request as a valid test case without overwriting another file', async () => {
    const { screen, keyboard, recording, ended } = await open()
    recording.feed(refused())
    await screen.until(text => text.includes('authorization'))
    keyboard.write('tt')
    await expect.poll(() => readdirSync(folder).length).toBe(2)
    const texts = readdirSync(folder).map(file => readFileSync(join(folder, file), 'utf8'))
    expect(readdirSync(folder).every(file => file.endsWith('.gwtest.yaml'))).toBe(true)
    expect(texts[0]).toBe(texts[1])
    const problems: unknown[] = []
    const context = {
      report: (problem: unknown) => problems.push(problem),
      paths: new WeakMap(),
      cel: undefined,
      patterns: createPatternCompiler(),
      missing: new Set<never>(),
    }
    expect(decode(testFile, parse(texts[0] as string), [], context), JSON.stringify(problems)).not.toBe(INVALID)
    expect(parse(texts[0] as string)).toMatchObject({
      cases: [{ request: { method: 'POST' }, expect: { status: 403 } }],
    })
    keyboard.write('q')
    await ended
  })
})

import { describe, expect, test } from 'vitest'
import { addEvents, EMPTY, type TraceState } from '../../../src/tools/events/state.ts'
import { cellsOf, cut, pad, wrap } from '../../../src/tools/terminal/cells.ts'
import type { KeyName } from '../../../src/tools/terminal/keyboard.ts'
import type { Size } from '../../../src/tools/terminal/layout.ts'
import { type Browse, FRESH } from '../../../src/tools/trace/browse.ts'
import { BINDINGS } from '../../../src/tools/trace/keys.ts'
import { press } from '../../../src/tools/trace/press.ts'
import { pictureOf, type StreamStatus } from '../../../src/tools/trace/screen.ts'
import { Recorder } from '../events/recorded-events.ts'

const LIVE: StreamStatus = { text: 'recording 127.0.0.1:15000', code: undefined }
const NORMAL: Size = { columns: 80, rows: 24 }

function recorded(requests = 1): TraceState {
  const recorder = new Recorder()
  for (let i = 1; i <= requests; i++) recorder.refused(`r${i}`, `/v1/chat/${i}`)
  return addEvents(EMPTY, recorder.events)
}

function linesOf(state: TraceState, browse = FRESH, size = NORMAL, status = LIVE): string[] {
  return pictureOf(state, browse, status, size).rows.map(row => row.map(({ text }) => text).join(''))
}

/** `keys`: names of keys, or characters that are typed. */
function typed(state: TraceState, keys: readonly (KeyName | string)[], browse = FRESH, size = NORMAL): Browse {
  const names = [
    'up',
    'down',
    'pageUp',
    'pageDown',
    'home',
    'end',
    'tab',
    'shiftTab',
    'enter',
    'escape',
    'backspace',
    'interrupt',
  ]
  return keys.reduce<Browse>((now, key) => {
    const picture = pictureOf(state, now, LIVE, size)
    const named = names.includes(key)
    return press(now, { name: named ? (key as KeyName) : 'text', text: named ? '' : key }, state, picture)
  }, browse)
}

const cursors = (lines: readonly string[]) => lines.filter(line => line.includes('▸'))

describe('any size', () => {
  const hostile = new Recorder()
  hostile.start('r1', `/${'日本語'.repeat(50)}/\u001b[2J\u202e/e\u0301/👩‍👩‍👧/\ud800`)
  hostile.add(
    { type: 'cel', expression: 'a\nb\tc', result: 'x'.repeat(500) },
    { line: 3, from: 1, scope: ['a', 'b', 'c', 'd', 'e', 'f'] },
  )
  const states = { empty: EMPTY, one: recorded(), many: recorded(300), hostile: addEvents(EMPTY, hostile.events) }

  const sizes = [
    [80, 24],
    [40, 10],
    [200, 60],
    [60, 12],
    [59, 12],
    [20, 5],
    [10, 4],
    [1, 1],
  ] as const
  for (const [columns, rows] of sizes) {
    test.each(Object.entries(states))(`${columns}x${rows}: %s`, (_, state) => {
      for (const keys of [[], ['tab'], ['tab', 'tab', 'end'], ['?'], ['/', 'x'], ['p'], ['home']]) {
        const lines = linesOf(state, typed(state, keys, FRESH, { columns, rows }), { columns, rows })
        // A full last row would scroll the terminal or flicker; a short line would leave old text behind.
        expect(lines.length).toBeLessThanOrEqual(Math.max(4, rows - 1))
        expect(new Set(lines.map(cellsOf))).toEqual(new Set([Math.max(10, columns)]))
        // biome-ignore lint/suspicious/noControlCharactersInRegex: that none gets through is the point
        expect(lines.join('')).not.toMatch(/[\u0000-\u001f\u007f\u202e]/)
      }
    })
  }
})

describe('the screen', () => {
  test('shows requests, the pipeline with times and config lines, and the deciding step', () => {
    const lines = linesOf(recorded(2), FRESH, { columns: 120, rows: 30 })
    const all = lines.join('\n')
    expect(all).toMatch(/12:30:45 POST \/v1\/chat\/2 +403/)
    expect(all).toMatch(/✓ route +chat after 1 other +gateway\.yaml:30 +@1\.00 ms/)
    expect(all).toMatch(/│ {7}✓ answer +auth:80: 200 +1\.25 ms/)
    expect(all).toMatch(/▸ ✗ authorization +deny: deny jwt\.roles.* gateway\.yaml:52/)
    expect(all).toContain('conf/gateway.yaml:52:5')
    expect(all).toContain('matched deny jwt.roles.exists(r, r == "contractor")')
    expect(all).toContain('POST /v1/chat/2: 403 in 4.10 ms')
  })

  test('shows config lines even at 80x24', () => {
    expect(linesOf(recorded()).join('\n')).toMatch(/✗ authorization.*:52 +@2\.00 ms/)
  })

  test('shows one pane at a time on a small terminal', () => {
    const size = { columns: 40, rows: 10 }
    const state = recorded()
    expect(linesOf(state, FRESH, size)[0]).toMatch(/^┌\[Requests 1\]/)
    expect(linesOf(state, typed(state, ['tab'], FRESH, size), size)[0]).toMatch(/^┌\[POST \/v1\/chat\/1/)
    expect(linesOf(state, typed(state, ['tab', 'tab'], FRESH, size), size)[0]).toMatch(/^┌\[Detail: authorization/)
  })

  test('marks the cursor and the active pane with characters when there are no colours', () => {
    const lines = linesOf(recorded(3))
    expect(cursors(lines).length).toBeGreaterThan(0)
    expect(lines[0]).toContain('[Requests 3]')
  })

  test('decodes a text body, but not binary data', () => {
    const recorder = new Recorder()
    recorder.start()
    const text = Buffer.from('{"model":"gpt"}').toString('base64')
    recorder.add({ type: 'body', stage: 'request', bytes: 15, base64: text, truncated: false })
    expect(linesOf(addEvents(EMPTY, recorder.events)).join('\n')).toContain('"model": "gpt"')
    recorder.add({ type: 'body', stage: 'request', bytes: 3, base64: '/wD+', truncated: false })
    expect(linesOf(addEvents(EMPTY, recorder.events)).join('\n')).toContain('3 bytes that are not text: ff00fe')
  })

  test('counts lost events per request and in total', () => {
    const recorder = new Recorder()
    recorder.refused('r1', '/one')
    recorder.start('r2', '/two')
    recorder.add({ type: 'dropped', count: 12 }, { request: 'r2' })
    recorder.add({ type: 'dropped', count: 1 }, { request: 'r2' })
    recorder.finish('r2')
    const state = addEvents(EMPTY, recorder.events)
    const [first, second] = [linesOf(state, typed(state, ['g'])), linesOf(state)]
    expect(second[0]).toContain('13 events lost')
    expect(second.join('\n')).toMatch(/lost +1 event: the re/)
    expect(first[0]).not.toContain('lost')
    for (const lines of [first, second]) expect(lines.at(-1)).toContain('recording 127.0.0.1:15000  13 events lost')
  })

  test('shows why the stream ended and the exit code', () => {
    const lost = linesOf(EMPTY, FRESH, NORMAL, { text: 'the connection broke.', code: 4 })
    expect(lost.at(-1)).toContain('exit code 4: the connection broke.')
  })
})

describe('keys', () => {
  const state = recorded(50)
  const title = (browse: Browse, now = state) => linesOf(now, browse)[0]!

  test('the newest request is selected until the cursor moves', () => {
    expect(title(FRESH)).toContain('/v1/chat/50')
    const more = recorded(60)
    expect(title(FRESH, more)).toContain('/v1/chat/60')
    const moved = typed(state, ['k'])
    expect(title(moved)).toContain('/v1/chat/49')
    expect(title(moved, more)).toContain('/v1/chat/49')
    expect(title(typed(state, ['j'], moved), more)).toContain('/v1/chat/60')
  })

  test('g, G and page keys move the cursor', () => {
    expect(title(typed(state, ['g']))).toContain('/v1/chat/1:')
    expect(title(typed(state, ['g', 'pageDown']))).toMatch(/\/v1\/chat\/1\d/)
    expect(title(typed(state, ['home', 'end']))).toContain('/v1/chat/50')
    expect(title(typed(state, ['g', 'up']))).toContain('/v1/chat/1:')
  })

  test('the cursor in a long list always stays visible', () => {
    for (const keys of [['g'], ['g', 'pageDown'], ['k', 'k', 'k'], ['G']]) {
      expect(cursors(linesOf(state, typed(state, keys)))[0]).toMatch(/│ ▸ /)
    }
  })

  test('a selected step keeps its request while others arrive', () => {
    const chosen = typed(state, ['tab', 'g'])
    expect(linesOf(recorded(60), chosen).join('\n')).toContain('Detail: request')
    expect(title(chosen, recorded(60))).toContain('/v1/chat/50')
  })

  test('the detail pane scrolls only to its end', () => {
    const first = linesOf(state, typed(state, ['tab', 'tab']))
    const size = { columns: 60, rows: 14 }
    const end = typed(state, ['tab', 'tab', 'G'], FRESH, size)
    expect(typed(state, ['j', 'j', 'j'], end, size).top).toBe(end.top)
    expect(linesOf(state, end, size)).not.toEqual(first)
    expect(typed(state, ['g'], end, size).top).toBe(0)
  })

  test('a filter can be typed, corrected, kept and cleared', () => {
    const filtered = typed(state, ['/', '/', '4', 'x', 'backspace', '9', 'enter'])
    expect(title(filtered)).toContain('[Requests 1 of 50 //49]')
    expect(title(filtered)).toContain('/v1/chat/49')
    expect(title(typed(state, ['escape'], filtered))).toContain('[Requests 50]')
    expect(title(typed(state, ['/', 'q', 'escape']))).toContain('[Requests 50]')
    expect(typed(state, ['/', 'q']).quit).toBeUndefined()
  })

  test('marks a failure hidden behind a successful status in the list', () => {
    const recorder = new Recorder()
    recorder.start('r1', '/grpc')
    recorder.add({ type: 'requestFinished', status: 200, error: 'authorization failed', bytes: 0 })
    recorder.start('r2', '/fine')
    recorder.finish('r2')
    const lines = linesOf(addEvents(EMPTY, recorder.events))
    expect(lines.find(line => line.includes('POST /grpc'))).toMatch(/ 200✗ /)
    expect(lines.findLast(line => line.includes('▸ POST /fine'))).toMatch(/ 200 {2}/)
  })

  test('a number filters by status, even if other text contains it', () => {
    const recorder = new Recorder()
    recorder.refused('r1', '/refused')
    recorder.start('403', '/orders/403')
    recorder.finish('403', 200)
    const both = addEvents(EMPTY, recorder.events)
    expect(title(typed(both, ['/', '4', '0', '3']), both)).toMatch(/1 of 2 \/403.*\/refused: 403/)
    expect(title(typed(both, ['/', 's', '/', '4', '0', '3']), both)).toMatch(/1 of 2 .*\/orders\/403: 200/)
  })

  test('filters the pipeline', () => {
    const lines = linesOf(state, typed(state, ['tab', '/', 'r', 'o', 'u', 't', 'e']))
    expect(lines.join('\n')).toContain('✓ route')
    expect(lines.join('\n')).not.toContain('· listener')
  })

  test('handles a filter without matches', () => {
    expect(
      linesOf(state, typed(state, ['/', '#', '#', 'enter', 'j', 'k', 'tab', 'j', 'tab', 'G'])).join('\n'),
    ).toContain('0 of 50')
  })

  test('pausing freezes the screen, counts new requests and loses nothing', () => {
    const paused = typed(state, ['p'])
    const more = recorded(60)
    expect(title(paused, more)).toContain('Requests 50')
    expect(linesOf(more, paused).at(-1)).toContain('paused, 10 new')
    expect(title(typed(more, ['p'], paused), more)).toContain('Requests 60')
  })

  test('the menu lists every key, filters while typing, runs the selected entry and closes', () => {
    const tall = { columns: 100, rows: 60 }
    const menu = typed(state, ['?'], FRESH, tall)
    const shown = linesOf(state, menu, tall).join('\n')
    for (const { what } of BINDINGS) expect(shown).toContain(what)
    const found = typed(state, [...'pause'], menu)
    expect(linesOf(state, found)).toHaveLength(23)
    expect(linesOf(state, found)[1]).toMatch(/▸ p +pause and resume/)
    expect(typed(state, ['enter'], found)).toMatchObject({ menu: undefined, paused: state })
    expect(typed(state, [...'xyz', 'enter'], menu)).toMatchObject({ menu: undefined, quit: undefined })
    expect(typed(state, ['q', 'escape'], menu)).toMatchObject({ menu: undefined, quit: undefined })
  })

  test('q quits, Esc goes back and then quits, Ctrl-C interrupts from anywhere', () => {
    expect(typed(state, ['q']).quit).toBe('asked')
    expect(typed(state, ['escape']).quit).toBe('asked')
    expect(typed(state, ['k', 'tab', 'escape'])).toMatchObject({
      pane: 'requests',
      request: undefined,
      quit: undefined,
    })
    for (const keys of [[], ['/'], ['?'], ['p'], ['S'], ['m', 'k', 'd']]) {
      expect(typed(state, [...keys, 'interrupt']).quit).toBe('interrupted')
    }
  })
})

describe('text width', () => {
  test.each([
    ['abc', 3, 'abc'],
    ['abcd', 3, 'ab…'],
    ['日本語', 6, '日本語'],
    ['日本語', 5, '日本…'],
    ['日本語', 4, '日…'],
    ['abc', 1, '…'],
    ['abc', 0, ''],
    ['a\u0301b', 2, 'a\u0301b'],
    ['\u001b[31mred', 20, '␛[31mred'],
  ])('%j fits into %i cells', (text, width, shown) => {
    expect(cut(text, width)).toBe(shown)
    expect(cellsOf(pad(text, width))).toBe(width)
  })

  test('wraps at words if possible', () => {
    expect(wrap('the quick brown fox', 10)).toEqual(['the quick', 'brown fox'])
    expect(wrap('a'.repeat(25), 10)).toEqual(['a'.repeat(10), 'a'.repeat(10), 'a'.repeat(5)])
    expect(wrap('日本語日本語', 5)).toEqual(['日本', '語日', '本語'])
    expect(wrap('one\ntwo', 10)).toEqual(['one', 'two'])
  })
})

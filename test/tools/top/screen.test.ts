import { describe, expect, test } from 'vitest'
import { cellsOf } from '../../../src/tools/terminal/cells.ts'
import type { KeyName } from '../../../src/tools/terminal/keyboard.ts'
import { type Browse, FRESH } from '../../../src/tools/top/browse.ts'
import { ExpositionReader } from '../../../src/tools/top/exposition.ts'
import { BINDINGS } from '../../../src/tools/top/keys.ts'
import { press } from '../../../src/tools/top/press.ts'
import { pictureOf } from '../../../src/tools/top/screen.ts'
import { addLook, EMPTY, type TopState } from '../../../src/tools/top/state.ts'
import { PlayedGateway, type Plot } from './played-gateway.ts'

const AROUND = { name: '127.0.0.1:15000', interval: 2000, asciiOnly: false }
const NORMAL = { columns: 80, rows: 24 }

function watched(plot: Plot, looks = 3): TopState {
  const gateway = new PlayedGateway(plot, 0)
  const exposition = new ExpositionReader()
  return Array.from({ length: looks }).reduce<TopState>(
    (state, _, i) => addLook(state, { at: i * 1000, time: i * 1000, samples: exposition.read(gateway.look(1)) }),
    EMPTY,
  )
}

function linesOf(state: TopState, browse: Browse = FRESH, size = NORMAL): string[] {
  return pictureOf(state, browse, AROUND, size).rows.map(row => row.map(({ text }) => text).join(''))
}

const NAMES: readonly KeyName[] = [
  'left',
  'right',
  'down',
  'up',
  'pageDown',
  'pageUp',
  'home',
  'end',
  'tab',
  'shiftTab',
  'enter',
  'escape',
]

/** `keys`: names of keys, or characters that are typed. */
function browsed(state: TopState, keys: readonly string[], browse = FRESH, size = NORMAL): Browse {
  return keys.reduce<Browse>((now, key) => {
    const name = NAMES.find(name => name === key)
    const pressed = name ? { name, text: '' } : { name: 'text' as const, text: key }
    return press(now, pressed, state, pictureOf(state, now, AROUND, size))
  }, browse)
}

const busy = watched('busy')
const many = watched('many')
const show = (state: TopState, ...keys: readonly string[]) => linesOf(state, browsed(state, keys))
/** What stands in the first column, of the lines of the list. */
const names = (lines: readonly string[]) =>
  lines.flatMap(line => /^[▸ ] (default\/\S+|\(no route\)|…\S+) {2}/.exec(line)?.[1] ?? [])

describe('any size', () => {
  const hostile = new ExpositionReader().read(
    ['日本語'.repeat(30), '\u001b[2J\u202e', 'e\u0301👩‍👩‍👧', '']
      .map((name, i) => `agentgateway_requests_total{route="${name}",status="200",reason="\u001b[2J"} ${i}\n`)
      .join(''),
  )
  const states = {
    empty: EMPTY,
    idle: watched('idle'),
    busy,
    many,
    hostile: addLook(addLook(EMPTY, { at: 0, time: 0, samples: [] }), { at: 1000, time: 1000, samples: hostile }),
  }
  const sizes = [80, 24, 40, 10, 200, 60, 79, 23, 30, 9, 20, 5, 10, 4, 1, 1]
  for (let i = 0; i < sizes.length; i += 2) {
    const size = { columns: sizes[i] as number, rows: sizes[i + 1] as number }
    test.each(Object.entries(states))(`${size.columns}x${size.rows}: %s`, (_, state) => {
      for (const keys of [
        [],
        ['1', 'end'],
        ['1', 'enter'],
        ['2'],
        ['3'],
        ['4'],
        ['5', 'G'],
        ['?'],
        ['/', 'x'],
        ['j'],
      ]) {
        const lines = linesOf(state, browsed(state, keys, FRESH, size), size)
        // A full last row would scroll the terminal or flicker; a short line would leave old text behind.
        expect(lines.length).toBe(Math.max(3, size.rows - 1))
        expect(new Set(lines.map(cellsOf))).toEqual(new Set([Math.max(10, size.columns)]))
        // biome-ignore lint/suspicious/noControlCharactersInRegex: that none gets through is the point
        expect(lines.join('')).not.toMatch(/[\u0000-\u001f\u007f\u202e]/)
      }
    })
  }
})

test('shows when a changed config was rejected', () => {
  const samples = (synchronized: number) =>
    new ExpositionReader().read(`agentgateway_config_synchronized ${synchronized}\n`)
  const first = (synchronized: number) =>
    linesOf(addLook(EMPTY, { at: 0, time: 0, samples: samples(synchronized) }), FRESH, { columns: 40, rows: 10 })[0]
  expect(first(0)).toContain('changed file refused')
  expect(first(1)).not.toContain('refused')
})

describe('a list of five hundred rows', () => {
  test('shows as many as fit and the position of the cursor', () => {
    const lines = show(many, '1', 'n', 'pageDown', 'pageDown')
    expect(lines.join('\n')).toMatch(/▸ default\/route-032 /)
    expect(lines.join('\n')).toContain('ROUTE▼ 33/500')
    expect(names(lines)).toHaveLength(17)
  })

  test('ends with the last one', () => {
    const lines = show(many, '1', 'n', 'end', 'down')
    expect(names(lines).at(-1)).toBe('default/route-499')
    expect(lines.find(line => line.startsWith('▸'))).toContain('route-499')
  })

  test('keeps the cursor on its row when others overtake it', () => {
    const browse = browsed(many, ['1', 'n', 'j', 'j'])
    const later = linesOf(many, browsed(many, ['r'], browse))
    expect(later.find(line => line.startsWith('▸'))).toContain('default/route-002')
  })
})

describe('sorting', () => {
  test('by rate, errors, latency and name; the same key again reverses the order', () => {
    const [chat, search, mcp, long, none] = [
      'default/chat',
      'default/search',
      'default/mcp',
      '…at-has-a-rather-long-name',
      '(no route)',
    ]
    expect(names(show(busy, '1'))).toEqual([search, chat, mcp, long, none])
    expect(names(show(busy, '1', 'r'))).toEqual([none, long, mcp, chat, search])
    expect(names(show(busy, '1', 'e'))[0]).toBe(chat)
    expect(names(show(busy, '1', 'l'))).toEqual([chat, mcp, search, long, none])
    expect(names(show(busy, '1', 'n'))).toEqual([none, long, chat, mcp, search])
  })

  test('a section without the column keeps its order', () => {
    expect(show(busy, '3', 'e').slice(5)).toEqual(show(busy, '3').slice(5))
  })
})

test('the filter matches names in every section while typing, and Esc clears it', () => {
  expect(names(show(busy, '1', '/', 'C', 'h', 'a'))).toEqual(['default/chat'])
  expect(show(busy, '2', '/', 's', 'o', 'n', 'enter').join('\n')).not.toContain('gpt-5')
  // Keys are text while one types.
  expect(show(busy, '1', '/', 'q').join('\n')).toContain('filter: q')
  expect(names(show(busy, '1', '/', 'z', 'escape'))).toHaveLength(5)
  expect(names(show(busy, '1', '/', 'z', 'enter', 'escape'))).toHaveLength(5)
})

test('pausing freezes the screen while polling continues', () => {
  const early = watched('busy', 2)
  const browse = browsed(early, ['1', 'p'])
  expect(linesOf(watched('busy', 9), browse).slice(0, -1)).toEqual(linesOf(early, browse).slice(0, -1))
  expect(linesOf(early, browse).at(-1)).toMatch(/^paused/)
  expect(linesOf(busy, browsed(busy, [' '], browse))).toEqual(show(busy, '1'))
})

test('the detail view of a row shows hidden columns and responses', () => {
  const size = { columns: 40, rows: 24 }
  const lines = linesOf(busy, browsed(busy, ['1', 'j', 'enter'], FRESH, size), size).join('\n')
  expect(lines).toMatch(/ROUTE default\/chat +\n/)
  expect(lines).toMatch(/P90 +480ms/)
  expect(lines).toMatch(/429 RateLimit/)
  expect(show(busy, '1', 'j', 'enter', 'escape')).toEqual(show(busy, '1', 'j'))
})

test('Esc goes back step by step and quits at the top', () => {
  let browse = browsed(busy, ['1', '/', 'c', 'enter', '?'])
  browse = browsed(busy, ['escape'], browse)
  expect(browse).toMatchObject({ cover: undefined, filter: 'c' })
  browse = browsed(busy, ['escape'], browse)
  expect(browse).toMatchObject({ filter: '', section: 'routes' })
  browse = browsed(busy, ['escape'], browse)
  expect(browse).toMatchObject({ section: 'all', quit: undefined })
  expect(browsed(busy, ['escape'], browse).quit).toBe('asked')
})

test('Tab cycles through the sections', () => {
  const seen = [1, 2, 3, 4, 5, 6].map(
    n =>
      browsed(
        busy,
        Array.from({ length: n }, () => 'tab'),
      ).section,
  )
  expect(seen).toEqual(['routes', 'models', 'budgets', 'mcp', 'backends', 'all'])
  expect(browsed(busy, ['shiftTab']).section).toBe('backends')
  expect(browsed(busy, ['right', 'right', 'left']).section).toBe('routes')
})

test('agent calls get a separate list once there are any', () => {
  const read = (count: number) =>
    new ExpositionReader().read(
      [
        `agentgateway_a2a_requests_total{method="message/send",task_state="completed",route="r"} ${count}`,
        `agentgateway_a2a_requests_total{method="message/send",task_state="completed",route="s"} ${count}`,
        `agentgateway_a2a_requests_total{method="tasks/get",task_state="unknown"} ${count / 2}`,
      ].join('\n'),
    )
  const asked = [0, 4].reduce<TopState>(
    (state, count, i) => addLook(state, { at: i * 1000, time: i * 1000, samples: read(count) }),
    EMPTY,
  )
  expect(browsed(busy, ['6']).section).toBe('all')
  expect(browsed(asked, ['6']).section).toBe('a2a')
  expect(show(asked, '6')[2]).toContain('[6 A2A 2]')
  expect(show(asked, '6').filter(line => /message|tasks/.test(line))).toEqual([
    expect.stringMatching(/message\/send +completed +8\.0/),
    expect.stringMatching(/tasks\/get +- +2\.0/),
  ])
})

test('no letter is bound twice, and the help lists every key', () => {
  const letters = BINDINGS.flatMap(binding => [...binding.letters])
  expect(new Set(letters).size).toBe(letters.length)
  const help = linesOf(busy, browsed(busy, ['?']), { columns: 80, rows: 60 }).join('\n')
  for (const { keys, what } of BINDINGS)
    expect(help).toMatch(new RegExp(`${keys.replace(/[?]/g, '\\?')} +${what.slice(0, 20).replace(/[()]/g, '\\$&')}`))
})

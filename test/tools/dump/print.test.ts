import { beforeAll, expect, test } from 'vitest'
import { dumpOf } from '../../../src/config/dump.ts'
import { plainPaint } from '../../../src/diagnostics/paint.ts'
import type { Dump } from '../../../src/tools/config-dump/read.ts'
import { print, type Wanted } from '../../../src/tools/dump/print.ts'
import { printPods } from '../../../src/tools/dump/print-pods.ts'
import { startGateway } from '../../helpers/gateway.ts'

const HOSTILE = 'a\u001B[2J\u009B31m\u202Eb\u2028c'
const OPTIONS = { paint: plainPaint, showOrigin: true, note() {} }

const NOTHING: Wanted = { view: undefined, format: undefined, effective: undefined, unused: false }

let dump: Dump
beforeAll(async () => {
  await using gateway = await startGateway(
    'binds: [{port: 80, listeners: [{routes: [{name: chat, policies: {cors: {allowOrigins: ["https://a.example"]}}, backends: [{host: "127.0.0.1:1"}]}]}]}]',
  )
  const { routes, ...rest } = dumpOf(gateway.gateway.snapshot!, '1.0.0')
  dump = { ...rest, routes: [{ ...routes[0], name: HOSTILE, origin: `${HOSTILE}.yaml:1:1` }] }
})

const rawIn = (text: string) => ['\u001B', '\u009B', '\u202E', '\u2028'].filter(char => text.includes(char))
const linesIn = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))

test.each<Partial<Wanted>>([
  { format: 'json' },
  { format: 'jsonl' },
  { format: 'yaml' },
  { format: 'wide' },
  { format: 'dot' },
  { view: 'routes', format: 'yaml' },
  { view: 'routes' },
  { effective: HOSTILE },
  { effective: HOSTILE, format: 'json' },
])('escapes terminal control sequences in %j', wanted => {
  expect(rawIn(print(dump, 'test', { ...NOTHING, ...wanted }, OPTIONS))).toEqual([])
})

test('JSON output still decodes to the original text', () => {
  const wanted = { ...NOTHING, view: 'routes' }
  const text = print(dump, 'test', { ...wanted, format: 'json' }, OPTIONS)
  expect(JSON.parse(text)).toMatchObject([{ name: HOSTILE }])
  expect(linesIn(print(dump, 'test', { ...wanted, format: 'jsonl' }, OPTIONS))).toMatchObject([{ name: HOSTILE }])
})

test('output for several pods has one complete value per line', () => {
  const wanted = { ...NOTHING, view: 'routes' }
  const pods = ['ns/a', 'ns/b'].map(pod => ({ pod, dump }))
  const json = printPods(pods, { ...wanted, format: 'json' }, OPTIONS)
  const jsonl = printPods(pods, { ...wanted, format: 'jsonl' }, OPTIONS)
  expect([rawIn(json), rawIn(jsonl)]).toEqual([[], []])
  expect(JSON.parse(json)).toMatchObject(pods.map(({ pod }) => ({ pod, value: [{ name: HOSTILE }] })))
  expect(linesIn(jsonl)).toMatchObject(pods.map(({ pod }) => ({ pod, value: { name: HOSTILE } })))
})

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { savedRecording } from '../../../src/tools/events/recording.ts'
import { browseRecording } from '../../../src/tools/trace/interactive.ts'
import { BINDINGS } from '../../../src/tools/trace/keys.ts'
import { FakeKeyboard, FakeScreen, isRestored } from '../../helpers/fake-terminal.ts'
import { startUpstream } from '../../helpers/upstream.ts'
import { Recorder } from '../events/recorded-events.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gwctl-actions-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

async function open(recorder: Pick<Recorder, 'texts'>, env: Record<string, string> = {}) {
  const file = join(folder, 'trace.jsonl')
  writeFileSync(file, `${recorder.texts.join('\n')}\n`)
  const screen = new FakeScreen(120, 30)
  const keyboard = new FakeKeyboard()
  const ended = browseRecording(savedRecording(file, { cwd: folder, stdin: keyboard }), {
    terminal: { stdin: keyboard, stdout: screen, colors: false },
    signal: new AbortController().signal,
    codeOf: () => 70,
    cwd: folder,
    env,
  })
  await screen.until(text => text.includes('the trace is complete'))
  return {
    screen,
    keyboard,
    async close() {
      keyboard.write('\u0003')
      await expect(ended).rejects.toMatchObject({ kind: 'interrupted' })
      expect(isRestored(screen, keyboard)).toBe(true)
    },
  }
}

/** A request of a trace, to an address that answers. */
function sentTo(host: string, method: string): Recorder {
  const recorder = new Recorder()
  recorder.add({
    type: 'requestStarted',
    method,
    url: `http://${host}/a?b=1`,
    source: '10.1.2.3:51000',
    time: '2026-01-15T12:30:45Z',
  })
  const headers = [
    ['x-team', 'search'],
    ['authorization', '<redacted>'],
    ['content-length', '99'],
  ] as const
  recorder.add({ type: 'snapshot', stage: 'initial request', state: { method, url: `http://${host}/a?b=1`, headers } })
  const base64 = Buffer.from('{"a":1}').toString('base64')
  if (method === 'POST') recorder.add({ type: 'body', stage: 'initial request', bytes: 7, base64, truncated: false })
  recorder.finish('r1', 200)
  return recorder
}

async function listening() {
  const received: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = []
  const upstream = await startUpstream((req: IncomingMessage, res: ServerResponse) => {
    let body = ''
    req.on('data', chunk => {
      body += chunk
    })
    req.on('end', () => {
      received.push({ method: req.method ?? '', url: req.url ?? '', headers: req.headers, body })
      res.writeHead(418).end()
    })
  })
  return { upstream, received }
}

test('r resends a GET at once and reports what the trace lacks', async () => {
  const { upstream, received } = await listening()
  await using _ = upstream
  const { screen, keyboard, close } = await open(sentTo(upstream.host, 'GET'))
  keyboard.write('r')
  await screen.until(text =>
    text.includes('sent again without authorization, its body: the trace does not have it: 418'),
  )
  expect(received).toMatchObject([{ method: 'GET', url: '/a?b=1', headers: { 'x-team': 'search' } }])
  expect(received[0]?.headers.authorization).toBeUndefined()
  await close()
})

test('r asks before resending a request that may change something, and sends its body', async () => {
  const { upstream, received } = await listening()
  await using _ = upstream
  const { screen, keyboard, close } = await open(sentTo(upstream.host, 'POST'))
  keyboard.write('r')
  await screen.until(text => text.includes('send it again?'))
  keyboard.write('x')
  expect(received).toEqual([])
  keyboard.write('\r')
  await screen.until(text => text.includes(': 418'))
  expect(received).toMatchObject([{ method: 'POST', body: '{"a":1}', headers: { 'content-length': '7' } }])
  await close()
})

test('i sends another request written in curl syntax', async () => {
  const { upstream, received } = await listening()
  await using _ = upstream
  const { screen, keyboard, close } = await open(sentTo(upstream.host, 'GET'))
  keyboard.write('i')
  await screen.until(text => text.includes(`GET http://${upstream.host}/a?b=1`))
  keyboard.write(`&c=2 -H 'x-new: a b'\r`)
  await screen.until(text => text.includes('sent: 418'))
  expect(received).toMatchObject([{ url: '/a?b=1&c=2', headers: { 'x-new': 'a b' } }])
  await close()
})

test('a request that cannot be sent reports why', async () => {
  const { screen, keyboard, close } = await open(sentTo('127.0.0.1:1', 'GET'))
  keyboard.write('r')
  await screen.until(text => text.includes('127.0.0.1:1 cannot be reached'))
  await close()
})

test('S saves events for -f without overwriting another file', async () => {
  const recorder = sentTo('gw.example.com', 'GET')
  const { screen, keyboard, close } = await open(recorder)
  keyboard.write('S')
  await screen.until(text => text.includes('save the events to: trace-r1.jsonl'))
  keyboard.write('\r')
  await screen.until(text => text.includes('3 events saved as trace-r1.jsonl'))
  expect(readFileSync(join(folder, 'trace-r1.jsonl'), 'utf8').trim().split('\n')).toEqual(recorder.texts)
  keyboard.write('S\r')
  await screen.until(text => text.includes('trace-r1.jsonl already exists: choose another name'))
  await close()
})

test('R replays the request through another config and compares, without sending anything', async () => {
  writeFileSync(
    join(folder, 'next.yaml'),
    'binds: [{port: 3000, listeners: [{routes: [{name: closed, policies: {directResponse: {status: 451}}}]}]}]\n',
  )
  const { screen, keyboard, close } = await open(sentTo('gw.example.com', 'GET'))
  keyboard.write('R')
  await screen.until(text => text.includes('run it through the configuration:'))
  keyboard.write('next.yaml\r')
  await screen.until(text => text.includes('Comparison of r1 and r1'))
  expect(screen.shown).toContain('a dry run of next.yaml')
  expect(screen.shown).toMatch(/\+ directResponse: replied \(route\): answered 451/)
  keyboard.write('R')
  await close()
})

test.each([
  ['192.0.2.1', 'directResponse: replied', /networkAuthorization/],
  ['10.1.2.3', 'networkAuthorization: failed (connection): closes the connection', /directResponse/],
])('R with connections from %s denied: %s', async (address, shown, notShown) => {
  // What was asked of a connection before is no part of a trace, and no difference.
  writeFileSync(
    join(folder, 'next.yaml'),
    `frontendPolicies: {networkAuthorization: {rules: [{deny: 'source.address == "${address}"'}]}}
binds: [{port: 3000, listeners: [{routes: [{policies: {directResponse: {status: 200}}}]}]}]
`,
  )
  const { screen, keyboard, close } = await open(sentTo('gw.example.com', 'GET'))
  keyboard.write('Rnext.yaml\r')
  await screen.until(text => text.includes('Comparison of r1 and r1') && text.includes(shown))
  expect(screen.shown).not.toMatch(notShown)
  await close()
})

test('R with an invalid config reports its error', async () => {
  writeFileSync(join(folder, 'bad.yaml'), 'binds: [{port: 3000, listenerz: []}]\n')
  const { screen, keyboard, close } = await open(sentTo('gw.example.com', 'GET'))
  keyboard.write('Rbad.yaml\r')
  await screen.until(text => text.includes('bad.yaml cannot be served'))
  await close()
})

test('m and d compare two requests, and explain what to do without a mark', async () => {
  const recorder = new Recorder()
  recorder.refused('r1')
  recorder.start('r2')
  recorder.finish('r2')
  const { screen, keyboard, close } = await open(recorder)
  keyboard.write('d')
  await screen.until(text => text.includes('mark a request with m first'))
  keyboard.write('md')
  await screen.until(text => text.includes('choose another request than the marked one'))
  keyboard.write('kd')
  await screen.until(text => text.includes('Comparison of r2 and r1'))
  expect(screen.shown).toMatch(/\+ authorization: deny/)
  keyboard.write('q')
  await screen.until(text => text.includes('[Requests 2]'))
  await close()
})

test('o opens the config line in the user’s editor and restores the terminal afterwards', async () => {
  const recorder = new Recorder()
  recorder.refused()
  const editor = join(folder, 'editor.cjs')
  writeFileSync(editor, `require('node:fs').writeFileSync('opened', process.argv.slice(2).join(' '))\n`)
  const { keyboard, close } = await open(recorder, { EDITOR: `${process.execPath} ${editor}` })
  keyboard.write('o')
  await expect.poll(() => readIfThere(join(folder, 'opened'))).toBe('+52 conf/gateway.yaml')
  await close()
})

test('o safely opens a file name that an editor would run as a command', async () => {
  const recorder = new Recorder()
  recorder.refused()
  const texts = recorder.texts.map(text => text.replaceAll('conf/gateway.yaml', '+!touch pwned'))
  const editor = join(folder, 'editor.cjs')
  writeFileSync(editor, `require('node:fs').writeFileSync('opened', process.argv.slice(2).join(' '))\n`)
  const { keyboard, close } = await open({ texts }, { EDITOR: `${process.execPath} ${editor}` })
  keyboard.write('o')
  await expect.poll(() => readIfThere(join(folder, 'opened'))).toBe('+52 ./+!touch pwned')
  await close()
})

describe('y', () => {
  const program = (name: string, code: string) => {
    writeFileSync(join(folder, name), `#!${process.execPath}\n${code}\n`, { mode: 0o755 })
  }
  const CLIPBOARD = '\u001b]52;c;'

  test('copies through tmux when running inside tmux', async () => {
    program(
      'tmux',
      `require('node:fs').writeFileSync('${join(folder, 'copied')}', process.argv.slice(2).join(' ') + '\\n' + require('node:fs').readFileSync(0))`,
    )
    const recorder = new Recorder()
    recorder.refused()
    const { screen, keyboard, close } = await open(recorder, { TMUX: '/tmp/tmux,1,0', PATH: folder })
    keyboard.write('y')
    await screen.until(text => text.includes('event 6 copied'))
    expect(readIfThere(join(folder, 'copied'))).toMatch(/^load-buffer -w -\n.*\n/)
    expect(readIfThere(join(folder, 'copied'))).toContain('jwt.roles')
    expect(screen.text).not.toContain(CLIPBOARD)
    await close()
  })

  test('falls back to the terminal when tmux fails', async () => {
    program('tmux', 'process.exit(1)')
    const recorder = new Recorder()
    recorder.refused()
    const { screen, keyboard, close } = await open(recorder, { TMUX: '/tmp/tmux,1,0', PATH: folder })
    keyboard.write('y')
    await screen.until(text => text.includes('event 6 copied'))
    expect(screen.text).toContain(CLIPBOARD)
    await close()
  })

  test('does not send more than a terminal accepts', async () => {
    const recorder = new Recorder()
    recorder.add({ type: 'cel', expression: 'x'.repeat(300_000) })
    const { screen, keyboard, close } = await open(recorder)
    keyboard.write('y')
    await screen.until(text => text.includes('too long for a clipboard'))
    expect(screen.text).not.toContain(CLIPBOARD)
    await close()
  })
})

test('no key is bound twice', () => {
  const letters = BINDINGS.flatMap(({ letter }) => letter ?? [])
  expect(new Set(letters).size).toBe(letters.length)
})

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

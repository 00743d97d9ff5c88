// Holds `gwctl trace` in a real terminal to the screens under test/tools/trace/screens: every scene in three sizes,
// drawn by tmux, then that the terminal is clean again after quitting. Needs tmux and a build; not part of the tests.
//
//   npm run interop:screens -- [SCENE...]
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, 'test/tools/trace/screens')
const wanted = process.argv.slice(2)
const scenes = JSON.parse(readFileSync(join(folder, 'scenes.json'), 'utf8')).filter(
  // A file has all its events at once; nothing waits for one.
  ({ name, recording }) => recording === undefined && (wanted.length === 0 || wanted.includes(name)),
)
const SIZES = [
  [80, 24],
  [120, 40],
  [200, 60],
]
const scratch = mkdtempSync(join(tmpdir(), 'gwctl-tmux-'))
const socket = join(scratch, 'tmux')
const tmux = (...args) => execFileSync('tmux', ['-S', socket, '-u', '-f', '/dev/null', ...args], { encoding: 'utf8' })
const screen = () => tmux('capture-pane', '-p', '-t', 'view')

const plain = text => text.replaceAll(/[ \t]+$/gm, '').trimEnd()

/** What is shown once it holds and has stopped changing. */
async function shownWhen(condition) {
  let last = ''
  for (let waited = 0; waited < 15_000; waited += 60) {
    await sleep(60)
    const now = screen()
    if (now === last && condition(now)) return now
    last = now
  }
  return last
}

async function sceneIn({ keys }, [columns, rows], golden) {
  const shell = `PS1='$ ' exec bash --norc --noprofile`
  tmux('new-session', '-d', '-s', 'view', '-x', String(columns), '-y', String(rows), '-c', folder, shell)
  try {
    await shownWhen(text => text.includes('$'))
    tmux('send-keys', '-t', 'view', `${process.execPath} ${join(root, 'bin/run.js')} trace -f trace.jsonl`, 'Enter')
    await shownWhen(text => text.includes('the trace is complete'))
    for (const key of keys) tmux('send-keys', '-t', 'view', ...(key.length === 1 ? ['-l', key] : [key]))
    const shown = await shownWhen(text => plain(text) === golden)
    tmux('send-keys', '-t', 'view', 'C-c')
    await shownWhen(text => text.trimEnd().endsWith('$'))
    tmux('send-keys', '-t', 'view', 'echo "code $?, clean"', 'Enter')
    const after = await shownWhen(text => text.includes('code 130, clean'))
    return { shown, clean: after.includes('code 130, clean') && !after.includes('┌') }
  } finally {
    tmux('kill-session', '-t', 'view')
  }
}

let wrong = 0
// Between two scenes the server must not be left without a session.
tmux('new-session', '-d', '-s', 'hold')
try {
  for (const scene of scenes) {
    for (const size of scene.size ? [scene.size] : SIZES) {
      const file = scene.size ? `${scene.name}.txt` : `${size.join('x')}/${scene.name}.txt`
      const golden = plain(readFileSync(join(folder, file), 'utf8'))
      const { shown, clean } = await sceneIn(scene, size, golden)
      const same = plain(shown) === golden
      console.log(`${same && clean ? 'ok  ' : 'DIFF'} ${file}${clean ? '' : ' (the terminal is not clean afterwards)'}`)
      if (same && clean) continue
      wrong++
      console.log(shown)
    }
  }
} finally {
  tmux('kill-server')
  rmSync(scratch, { recursive: true })
}
console.log(wrong === 0 ? 'every screen is as it should be' : `${wrong} screens differ`)
process.exitCode = wrong === 0 ? 0 : 1

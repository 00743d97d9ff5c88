// Holds `gwctl trace` in a real terminal to the screens under test/tools/trace/screens: every scene in three sizes,
// drawn by tmux; and every way to leave it to a terminal that is as it was before. Needs tmux and a build; not part of
// the tests.
//
//   npm run interop:screens -- [SCENE... | leaving]
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkLeaving } from './leaving.mjs'
import { Terminals } from './terminal.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = join(root, 'test/tools/trace/screens')
const command = `${process.execPath} ${join(root, 'bin/run.js')} trace -f trace.jsonl`
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
const plain = text => text.replaceAll(/[ \t]+$/gm, '').trimEnd()
const terminals = new Terminals()

async function sceneIn({ keys }, size, golden) {
  await terminals.open(size, folder)
  try {
    terminals.enter(command)
    await terminals.until(text => text.includes('the trace is complete'))
    terminals.press(...keys)
    return await terminals.until(text => plain(text) === golden)
  } finally {
    terminals.close()
  }
}

let wrong = 0
try {
  for (const scene of scenes) {
    for (const size of scene.size ? [scene.size] : SIZES) {
      const file = scene.size ? `${scene.name}.txt` : `${size.join('x')}/${scene.name}.txt`
      const golden = plain(readFileSync(join(folder, file), 'utf8'))
      const shown = await sceneIn(scene, size, golden)
      const same = plain(shown) === golden
      console.log(`${same ? 'ok  ' : 'DIFF'} ${file}`)
      if (same) continue
      wrong++
      console.log(shown)
    }
  }
  if (wanted.length === 0 || wanted.includes('leaving')) wrong += await checkLeaving(terminals, command, folder)
} finally {
  terminals.end()
}
console.log(wrong === 0 ? 'everything is as it should be' : `${wrong} are not as they should be`)
process.exitCode = wrong === 0 ? 0 : 1

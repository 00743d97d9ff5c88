// Holds the views of `gwctl trace` and `gwctl top` in a real terminal to the screens under test/tools/*/screens: every
// scene in three sizes, drawn by tmux; and every way to leave them to a terminal that is as it was before. Needs tmux and
// a build; not part of the tests.
//
//   npm run interop:screens -- [trace | top | SCENE... | leaving]
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkLeaving } from './views/leaving.mjs'
import { Terminals } from './views/terminal.mjs'
import { topView } from './views/top-view.mjs'
import { traceView } from './views/trace-view.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const wanted = process.argv.slice(2)
const isWanted = (...names) => wanted.length === 0 || names.some(name => wanted.includes(name))
const trimmed = text => text.replaceAll(/[ \t]+$/gm, '').trimEnd()
const terminals = new Terminals()

async function sceneIn(view, scene, size, golden) {
  const played = await view.play(scene)
  await terminals.open(size, view.folder)
  try {
    terminals.enter(played.command)
    await terminals.until(text => text.includes(view.ready))
    terminals.press(...scene.keys)
    return played.plain(await terminals.until(text => trimmed(played.plain(text)) === golden))
  } finally {
    terminals.close()
    played.stop()
  }
}

/** How many screens are another one. */
async function checkScreens(view) {
  let wrong = 0
  const scenes = JSON.parse(readFileSync(join(view.folder, 'scenes.json'), 'utf8'))
  for (const scene of scenes.filter(scene => view.shows(scene) && isWanted(view.name, scene.name))) {
    for (const size of scene.size ? [scene.size] : view.sizes) {
      const file = scene.size ? `${scene.name}.txt` : `${size.join('x')}/${scene.name}.txt`
      const golden = trimmed(readFileSync(join(view.folder, file), 'utf8'))
      let shown = ''
      for (let i = 0; i < view.tries && trimmed(shown) !== golden; i++) shown = await sceneIn(view, scene, size, golden)
      const same = trimmed(shown) === golden
      console.log(`${same ? 'ok  ' : 'DIFF'} ${view.name} ${file}`)
      if (same) continue
      wrong++
      console.log(shown)
    }
  }
  return wrong
}

let wrong = 0
try {
  for (const view of [traceView(root), topView(root)]) {
    wrong += await checkScreens(view)
    if (isWanted(view.name, 'leaving')) wrong += await checkLeaving(terminals, view)
  }
} finally {
  terminals.end()
}
console.log(wrong === 0 ? 'everything is as it should be' : `${wrong} are not as they should be`)
process.exitCode = wrong === 0 ? 0 : 1

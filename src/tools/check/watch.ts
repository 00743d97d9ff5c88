import { type FSWatcher, statSync, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { globRoot, isGlob } from './globs.ts'
import { SETTINGS_FILE } from './settings.ts'

/** Editors write a file in several steps. */
const QUIET_MS = 100

/** Calls `run` now and after each change of the inputs, one call at a time, until `stop` aborts. Rejects as `run` does. */
export async function watchInputs(
  paths: readonly string[],
  cwd: string,
  stop: AbortSignal,
  run: () => Promise<void>,
): Promise<void> {
  let wake = (): void => {}
  let changed = false
  let timer: NodeJS.Timeout | undefined
  const touch = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      changed = true
      wake()
    }, QUIET_MS)
  }
  const watchers = paths.filter(path => path !== '-').map(path => watchPath(path, cwd, touch))
  stop.addEventListener('abort', () => wake(), { once: true })
  try {
    while (!stop.aborted) {
      changed = false
      await run()
      if (changed || stop.aborted) continue
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  } finally {
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
  }
}

/** Of a file its folder is watched: an editor may put a new file in its place. */
function watchPath(path: string, cwd: string, touch: () => void): FSWatcher {
  const full = resolve(cwd, path)
  const info = statSync(full, { throwIfNoEntry: false })
  if (info?.isDirectory()) return ignoringErrors(watch(full, { recursive: true }, touch))
  if (info === undefined && isGlob(path)) {
    return ignoringErrors(watch(resolve(cwd, globRoot(path)), { recursive: true }, touch))
  }
  const names = new Set([basename(full), SETTINGS_FILE])
  return ignoringErrors(
    watch(dirname(full), (_event, name) => (name === null || names.has(name) ? touch() : undefined)),
  )
}

/** A folder that goes away is noticed by the next run. */
function ignoringErrors(watcher: FSWatcher): FSWatcher {
  return watcher.on('error', () => {})
}

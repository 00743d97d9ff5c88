import { type FSWatcher, statSync, watch } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Failure } from '../../diagnostics/failure.ts'
import { globRoot, isGlob } from '../input/globs.ts'
import { SETTINGS_FILE } from './settings.ts'

/** Editors write a file in several steps. */
const QUIET_MS = 100

interface Watching {
  readonly cwd: string
  readonly stop: AbortSignal
  /** Files written by each run, which do not count as changes. */
  readonly written: readonly (string | undefined)[]
}

/** Replaces the set of watched paths. */
type WatchInstead = (paths: readonly string[]) => void

/**
 * Calls `run` now and after each change of the inputs, one call at a time, until `stop` aborts. Rejects as `run` does,
 * and with a Failure if the system cannot watch anything.
 */
export async function watchInputs(
  paths: readonly string[],
  { cwd, stop, written }: Watching,
  run: (watchInstead: WatchInstead) => Promise<void>,
): Promise<void> {
  let wake = (): void => {}
  let changed = false
  let timer: NodeJS.Timeout | undefined
  const own = new Set(written.flatMap(path => (path === undefined ? [] : [resolve(cwd, path)])))
  const touch = (path: string | undefined): void => {
    if (path !== undefined && own.has(path)) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      changed = true
      wake()
    }, QUIET_MS)
  }
  const watchers = new Watchers(cwd, touch)
  watchers.set(paths)
  stop.addEventListener('abort', () => wake(), { once: true })
  try {
    while (!stop.aborted) {
      changed = false
      await run(now => watchers.set(now))
      if (changed || stop.aborted) continue
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  } finally {
    clearTimeout(timer)
    watchers.set([])
  }
}

/** The target of one file system watcher. */
interface Watched {
  readonly folder: string
  readonly recursive: boolean
  /** The files of interest in it. Undefined for all. */
  readonly names: readonly string[] | undefined
}

/** `path`: what changed, if the system reports it. */
type Touch = (path: string | undefined) => void

class Watchers {
  readonly #cwd: string
  readonly #touch: Touch
  readonly #open = new Map<string, FSWatcher>()

  constructor(cwd: string, touch: Touch) {
    this.#cwd = cwd
    this.#touch = touch
  }

  set(paths: readonly string[]): void {
    const all = paths.filter(path => path !== '-').map(path => watchedFor(path, this.#cwd))
    const wanted = new Map(all.map(watched => [JSON.stringify(watched), watched]))
    for (const [key, watcher] of this.#open) {
      if (wanted.has(key)) continue
      watcher.close()
      this.#open.delete(key)
    }
    for (const [key, watched] of wanted) {
      if (!this.#open.has(key)) this.#open.set(key, openWatcher(watched, this.#touch))
    }
  }
}

/** For a file its folder is watched, since an editor may replace the file. */
function watchedFor(path: string, cwd: string): Watched {
  const full = resolve(cwd, path)
  if (isFolder(full)) return { folder: full, recursive: true, names: undefined }
  if (isGlob(path) && !exists(full)) {
    return { folder: resolve(cwd, globRoot(path)), recursive: true, names: undefined }
  }
  const names = [basename(full), SETTINGS_FILE]
  let folder = dirname(full)
  // A path that does not exist yet is watched from its nearest existing folder.
  while (!exists(folder) && dirname(folder) !== folder) {
    names[0] = basename(folder)
    folder = dirname(folder)
  }
  return { folder, recursive: false, names }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function openWatcher({ folder, recursive, names }: Watched, touch: Touch): FSWatcher {
  try {
    const watcher = watch(folder, { recursive }, (_event, name) => {
      if (name === null) touch(undefined)
      else if (names === undefined || names.includes(name)) touch(join(folder, name))
    })
    // The next run notices a removed folder.
    return watcher.on('error', () => {})
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new Failure('input', `cannot watch ${folder}: ${code ?? message}.`, {
      cause: error,
      ...(code === 'ENOSPC' && { help: 'The system watches no more files: raise fs.inotify.max_user_watches.' }),
    })
  }
}

import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, parse, relative, resolve, sep } from 'node:path'

/**
 * Where a file belongs: the repository around it; without one the current directory, if the file is in it; else its own
 * folder. What a stranger's files name, and where links in them lead, stays within it.
 */
export interface Place {
  readonly root: string
  /** As in a sentence: `the repository /work/app`. */
  readonly shown: string
  /** The file was found in a tree; false: somebody has named a file from somewhere else. */
  readonly bounds: boolean
}

export function placeOf(path: string, cwd: string): Place {
  const full = resolve(cwd, path)
  const repository = repositoryOf(dirname(full))
  if (repository !== undefined) return { root: repository, shown: `the repository ${repository}`, bounds: true }
  // A home directory holds what no project in it may name.
  const wide = cwd === parse(cwd).root || cwd === homedir()
  if (!wide && isBelow(full, cwd)) return { root: cwd, shown: `the directory ${cwd}`, bounds: true }
  const folder = dirname(full)
  return { root: folder, shown: `the directory ${folder}`, bounds: false }
}

/** The nearest folder, from this one up, in which git has a repository or a working tree. */
function repositoryOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (lstatSync(join(at, '.git'), { throwIfNoEntry: false }) !== undefined) return at
    if (dirname(at) === at) return undefined
  }
}

/** Whether a path is outside of a place, or leads out of it through links, be there a file at its end or not. */
export function leadsOut(path: string, { root }: Pick<Place, 'root'>): boolean {
  if (!isBelow(path, root)) return true
  const [at, within] = [realPath(path), realPath(root)]
  return at === undefined || within === undefined || !isBelow(at, within)
}

function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && resolve(folder, way) === resolve(path)
}

/** As many as Linux follows. */
const MAX_LINKS = 40

/** With every link of it followed, as far as there is anything; undefined for links that lead in a circle. */
function realPath(path: string, links = MAX_LINKS): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    if (dirname(path) === path || links === 0) return undefined
    const target = linkedFrom(path)
    if (target !== undefined) return realPath(resolve(dirname(path), target), links - 1)
    const folder = realPath(dirname(path), links)
    return folder && join(folder, basename(path))
  }
}

function linkedFrom(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

import { existsSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import type { ReadReferenced } from '../../config/compile-context.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { checkRevision, runGit, runGitNow } from '../input/git.ts'
import { type InputText, inputText, isConfiguration } from '../input/input-files.ts'

/** A file or directory as it was at a revision: `config.yaml` at `HEAD~1`. */
export interface GitFiles {
  readonly texts: readonly InputText[]
  readonly directory: boolean
  /** Referenced files, at that revision. */
  readonly readReferenced: ReadReferenced
}

/** Throws a Failure: `usage` for an unknown revision, `input` for a path that did not exist in it. */
export async function readRevision(revision: string, path: string, cwd: string): Promise<GitFiles> {
  const full = resolve(cwd, path)
  // Git does not look into a repository from above its root.
  const folder = existsSync(join(full, '.git')) ? full : existingFolder(dirname(full))
  await checkRevision(folder, revision, 'Write git:REVISION:PATH, for example git:origin/main:config.yaml.')
  const at = objectName(revision, folder, full)
  const name = `${revision}:${path}`
  const missing = (cause: unknown) =>
    new Failure('input', `${path} does not exist at ${revision}.`, {
      cause,
      help: 'Paths are relative to the current directory. `git ls-tree` lists what was there.',
    })
  const type = (await runGit(folder, ['cat-file', '-t', at], missing)).toString().trim()
  if (type === 'tree') {
    return { texts: await treeTexts(folder, at, name), directory: true, readReferenced: () => undefined }
  }
  const bytes = await runGit(folder, ['cat-file', 'blob', at], missing)
  // Compilation reads referenced files synchronously.
  const readReferenced: ReadReferenced = named => {
    const file = resolve(dirname(full), named)
    return runGitNow(folder, ['cat-file', 'blob', objectName(revision, folder, file)])
  }
  return { texts: [{ file: name, text: inputText(name, bytes) }], directory: false, readReferenced }
}

function existingFolder(folder: string): string {
  let at = folder
  while (statSync(at, { throwIfNoEntry: false })?.isDirectory() !== true && dirname(at) !== at) at = dirname(at)
  return at
}

/** Git's name for a file below a folder. */
function objectName(revision: string, folder: string, full: string): string {
  return `${revision}:./${relative(folder, full).split(sep).join('/')}`
}

/** The files below a directory that are configuration by name, as when reading the directory itself. */
async function treeTexts(folder: string, tree: string, name: string): Promise<InputText[]> {
  const listed = (await runGit(folder, ['ls-tree', '-r', '-z', '--full-tree', tree], unreadable(name))).toString()
  const entries = listed.split('\0').flatMap(line => {
    const [, mode, id, path] = /^(\d+) blob (\w+)\t(.*)$/s.exec(line) ?? []
    return path === undefined || mode === '120000' ? [] : [{ id: id as string, path }]
  })
  const charts = new Set(entries.flatMap(({ path }) => /^((?:.*\/)?)Chart\.yaml$/.exec(path)?.[1] ?? []))
  const inChart = (path: string) => [...charts].some(chart => path.startsWith(`${chart}templates/`))
  const wanted = entries.filter(({ path }) => isConfiguration(path) && !inChart(path))
  const ids = wanted.map(({ id }) => id)
  const blobs = await readBlobs(folder, ids, name)
  return wanted.map(({ path }, i) => {
    const file = `${name.replace(/\/+$/, '')}/${path}`
    return { file, text: inputText(file, blobs[i] ?? Buffer.alloc(0)) }
  })
}

/** In a single git process: a directory may contain thousands. */
async function readBlobs(folder: string, ids: readonly string[], name: string): Promise<Buffer[]> {
  const out = await runGit(folder, ['cat-file', '--batch'], unreadable(name), `${ids.join('\n')}\n`)
  const blobs: Buffer[] = []
  for (let at = 0; blobs.length < ids.length; ) {
    const line = out.indexOf(10, at)
    const size = Number(out.subarray(at, line).toString().split(' ')[2])
    blobs.push(out.subarray(line + 1, line + 1 + size))
    at = line + size + 2
  }
  return blobs
}

function unreadable(name: string) {
  return (cause: unknown) => new Failure('input', `git cannot read ${name}.`, { cause })
}

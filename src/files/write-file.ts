import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { cannotWrite, Failure } from '../diagnostics/failure.ts'
import { visible } from '../diagnostics/visible.ts'
import { leadsOut, placeOf } from './place.ts'

/**
 * Replaces a file's content or makes the file: a reader sees the old bytes or the new ones, never a part. Links within
 * the file's place and permissions stay. `shown`: the path as it was named. Throws an input Failure.
 */
export function replaceFile(path: string, bytes: Buffer | string, shown: string, cwd: string): void {
  const full = resolve(cwd, path)
  refuseLinksOut(full, shown, cwd)
  let draft: string | undefined
  try {
    const exists = statSync(full, { throwIfNoEntry: false })
    const target = exists ? realpathSync(full) : full
    draft = join(dirname(target), `.${basename(target)}.gwctl-${process.pid}`)
    const handle = openSync(draft, 'wx')
    try {
      if (exists) fchmodSync(handle, exists.mode)
      writeFileSync(handle, bytes)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    renameSync(draft, target)
  } catch (error) {
    if (draft !== undefined) rmSync(draft, { force: true })
    throw cannotWrite(shown, error)
  }
}

/** Writes a report to where `-o` says, which may be a pipe or a device. Throws an input Failure. */
export async function writeReport(path: string, data: string | Uint8Array, cwd: string): Promise<void> {
  const full = resolve(cwd, path)
  refuseLinksOut(full, path, cwd)
  await writeFile(full, data).catch(error => {
    throw cannotWrite(path, error)
  })
}

/** Whoever made the tree may have put a link where we are going to write. */
export function refuseLinksOut(path: string, shown: string, cwd: string): void {
  const place = placeOf(path, cwd)
  if (!place.bounds || !leadsOut(path, place)) return
  throw new Failure('input', `cannot write ${visible(shown)}: a link in its path leads out of ${place.shown}.`, {
    help: 'Remove the link, or name the file that it leads to.',
  })
}

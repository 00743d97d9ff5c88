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
import { basename, dirname, join } from 'node:path'
import { cannotWrite } from '../diagnostics/failure.ts'

/**
 * Replaces a file's content or makes the file: a reader sees the old bytes or the new ones, never a part. Links and
 * permissions stay. Throws an input Failure.
 */
export function replaceFile(path: string, bytes: Buffer | string, shown: string): void {
  const exists = statSync(path, { throwIfNoEntry: false })
  const target = exists ? realpathSync(path) : path
  const draft = join(dirname(target), `.${basename(target)}.gwctl-${process.pid}`)
  try {
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
    rmSync(draft, { force: true })
    throw cannotWrite(shown, error)
  }
}

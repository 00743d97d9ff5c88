import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** bytes of a file that is written by hand, or that a configuration names. */
export const MAX_FILE = 16 * 1024 * 1024

/** Why a file is not read although it is there; what the system itself refuses comes as its own error. */
export class NotReadable extends Error {
  readonly reason: 'not a regular file' | 'too large'

  constructor(reason: NotReadable['reason']) {
    super(reason)
    this.name = 'NotReadable'
    this.reason = reason
  }
}

/**
 * The bytes of a regular file. Never waits and never takes more than `most` bytes, whatever the name leads to: a pipe
 * without a writer, a device without an end, a file that grows meanwhile. Throws NotReadable, or the system's error.
 */
export function readRegularFile(path: string, most = MAX_FILE): Buffer {
  // Opening a pipe waits for whoever writes to it, and opening a terminal may make it ours.
  const handle = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0))
  try {
    const about = fstatSync(handle)
    if (!about.isFile()) {
      if (about.isDirectory()) throw Object.assign(new Error('it is a directory'), { code: 'EISDIR' })
      throw new NotReadable('not a regular file')
    }
    if (about.size > most) throw new NotReadable('too large')
    return readUpTo(handle, about.size, most)
  } finally {
    closeSync(handle)
  }
}

/** The bytes of whatever a person has named, be it a pipe or a device, which may be waited for. */
export function readAnyFile(path: string, most = MAX_FILE): Buffer {
  const handle = openSync(path, 'r')
  try {
    const about = fstatSync(handle)
    if (about.isFile() && about.size > most) throw new NotReadable('too large')
    return readUpTo(handle, about.isFile() ? about.size : 0, most)
  } finally {
    closeSync(handle)
  }
}

/** The bytes of a regular file, or undefined where there is none to read. */
export function readIfRegular(path: string, most = MAX_FILE): Buffer | undefined {
  try {
    return readRegularFile(path, most)
  } catch {
    return undefined
  }
}

/** Whether a regular file is there that begins with these bytes. */
export function startsWith(path: string, magic: Buffer): boolean {
  let handle: number | undefined
  try {
    handle = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0))
    const start = Buffer.alloc(magic.length)
    return fstatSync(handle).isFile() && readSync(handle, start) === magic.length && start.equals(magic)
  } catch {
    return false
  } finally {
    if (handle !== undefined) closeSync(handle)
  }
}

const CHUNK = 64 * 1024

/** `size` is what to expect: files of /proc say 0, and others may change. */
function readUpTo(handle: number, size: number, most: number): Buffer {
  const chunks: Buffer[] = []
  let total = 0
  for (;;) {
    const chunk = Buffer.allocUnsafe(Math.max(CHUNK, size + 1 - total))
    const read = readSync(handle, chunk)
    if (read === 0) return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    chunks.push(chunk.subarray(0, read))
    total += read
    if (total > most) throw new NotReadable('too large')
  }
}

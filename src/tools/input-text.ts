import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Failure } from '../diagnostics/failure.ts'
import { readText } from '../diagnostics/source-text.ts'

/** Where a command's input comes from. */
export interface InputPlace {
  readonly stdin: NodeJS.ReadableStream
  readonly cwd: string
}

/** The text of one file, or of stdin for `-`. Throws a Failure `input` when there is none. */
export async function readInput(path: string, place: InputPlace): Promise<string> {
  const bytes = path === '-' ? await buffer(place.stdin) : await readBytes(path, place.cwd)
  const read = readText(bytes)
  if ('text' in read) return read.text
  throw new Failure('input', `${nameOf(path)} is ${read.problem === 'binary' ? 'binary' : 'neither UTF-8 nor UTF-16'}.`)
}

export function nameOf(path: string): string {
  return path === '-' ? 'stdin' : path
}

async function readBytes(path: string, cwd: string): Promise<Buffer> {
  try {
    return await readFile(resolve(cwd, path))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = (code !== undefined && REASONS[code]) || message
    throw new Failure('input', `cannot read ${path}: ${reason}.`, { cause: error })
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a directory',
  EACCES: 'permission denied',
}

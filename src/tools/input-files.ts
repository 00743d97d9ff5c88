import { readdir, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Failure } from '../diagnostics/failure.ts'
import { readText } from '../diagnostics/source.ts'
import { didYouMean } from '../diagnostics/suggest.ts'

export const MAX_INPUT = 16 * 1024 * 1024

export interface InputText {
  /** As shown in findings. */
  readonly file: string
  readonly text: string
}

/** Reads one named file, or stdin for `-`. Throws an input Failure that says what is wrong with it. */
export async function readInput(
  path: string,
  cwd: string,
  stdin: () => NodeJS.ReadableStream,
  stdinName = '<stdin>',
): Promise<InputText> {
  if (path === '-') return { file: stdinName, text: toText(await readStream(stdin()), stdinName) }
  const full = resolve(cwd, path)
  const info = await stat(full).catch((error: NodeJS.ErrnoException) => error)
  if (info instanceof Error) throw await missing(path, full, info)
  if (info.isDirectory()) throw new Failure('input', `${path} is a directory.`, { help: 'Name a file in it.' })
  if (info.size > MAX_INPUT) throw tooLarge(path, info.size)
  const bytes = await readFile(full).catch((error: NodeJS.ErrnoException) => error)
  if (bytes instanceof Error) throw await missing(path, full, bytes)
  return { file: path, text: toText(bytes, path) }
}

function toText(bytes: Buffer, name: string): string {
  if (bytes.length > MAX_INPUT) throw tooLarge(name, bytes.length)
  const read = readText(bytes)
  if ('text' in read) return read.text
  throw new Failure(
    'input',
    read.problem === 'binary' ? `${name} is a binary file, not text.` : `${name} is neither UTF-8 nor UTF-16 text.`,
    { help: 'Name a YAML or JSON file.' },
  )
}

function tooLarge(name: string, size: number): Failure {
  return new Failure(
    'input',
    `${name} is too large: ${(size / 1024 / 1024).toFixed(1)} MiB, at most 16 MiB are read.`,
    { help: 'Split the configuration.' },
  )
}

async function readStream(stream: NodeJS.ReadableStream): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Buffer)
    size += bytes.length
    if (size > MAX_INPUT) throw tooLarge('stdin', size)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

async function missing(path: string, full: string, error: NodeJS.ErrnoException): Promise<Failure> {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR')
    return new Failure('input', `cannot read ${path}: ${error.code ?? error.message}.`, { cause: error })
  const folder = join(full, '..')
  const names = await readdir(folder).catch(() => [])
  const guess = didYouMean(full.slice(folder.length + 1), names)
  return new Failure('input', `${path} does not exist${guess === undefined ? '.' : `: ${guess}`}`, {
    help: 'Name an existing file, or - for stdin.',
  })
}

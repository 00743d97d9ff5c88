import { readdirSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { cannotRead, Failure } from '../../diagnostics/failure.ts'
import { readText } from '../../diagnostics/source-text.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { visible } from '../../diagnostics/visible.ts'
import { leadsOut, placeOf } from '../../files/place.ts'
import { MAX_FILE, NotReadable, readAnyFile, readRegularFile } from '../../files/read-file.ts'
import { type Glob, globRoot, isGlob, parseGlob } from './globs.ts'

/** Bytes of files written by programs: dumps, recordings. */
export const MAX_RECORDED = 256 * 1024 * 1024

/** The source of a command's input. `stdin` is read only if `-` is given. */
export interface InputPlace {
  readonly cwd: string
  readonly stdin: NodeJS.ReadableStream
  /** Empty stdin is not a failure. */
  readonly allowEmpty?: boolean
  /** Follow links anywhere: the files belong to whoever runs the gateway. */
  readonly trusted?: boolean
}

export interface InputText {
  /** As shown in findings. */
  readonly file: string
  readonly text: string
}

/** A file to check. */
export interface InputFile {
  /** As shown in findings: as given, or relative to the given directory. */
  readonly file: string
  /** Absolute; undefined for stdin. */
  readonly path: string | undefined
  /** Given explicitly, not found in a directory. */
  readonly named: boolean
}

export interface Inputs {
  readonly files: readonly InputFile[]
  /** From directories: files with a configuration's name that are none. */
  readonly skipped: readonly { readonly file: string; readonly reason: string }[]
  /** Given paths that do not exist. */
  readonly failures: readonly Failure[]
}

/** Resolves paths: files, directories, globs, and `-` for stdin. Each file occurs once. */
export function findInputs(paths: readonly string[], cwd: string, stdinName = '<stdin>'): Inputs {
  const files = new Map<string, InputFile>()
  const found: Found = { skipped: [], failures: [] }
  const add = (input: InputFile): void => {
    const key = input.path ?? '-'
    const known = files.get(key)
    if (known === undefined || (input.named && !known.named)) files.set(key, known ? { ...known, named: true } : input)
  }
  for (const path of paths) {
    try {
      if (path === '') throw new Failure('input', 'an empty name is not a file.', { help: 'Is a variable unset?' })
      else if (path === '-') add({ file: stdinName, path: undefined, named: true })
      else for (const input of expand(path, cwd, found)) add(input)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      found.failures.push(error)
    }
  }
  return { files: [...files.values()], ...found }
}

interface Found {
  readonly skipped: { file: string; reason: string }[]
  readonly failures: Failure[]
}

function expand(path: string, cwd: string, into: Found): InputFile[] {
  const full = resolve(cwd, path)
  const info = statOf(path, full)
  if (info === undefined && isGlob(path)) return expandGlob(path, cwd, into)
  if (info === undefined) throw missing(path, full)
  if (!info.isDirectory()) return [{ file: path, path: full, named: true }]
  return [...walk(full, into)].map(file => ({ file: join(path, relative(full, file)), path: file, named: false }))
}

function expandGlob(pattern: string, cwd: string, into: Found): InputFile[] {
  const root = globRoot(pattern.replaceAll('\\', '/'))
  const matches: Glob = parseGlob(pattern.replace(/^\.\//, ''))
  const found = [...walk(resolve(cwd, root), into, () => true)]
    .map(path => ({ file: isAbsolute(pattern) ? path : relative(cwd, path).split(sep).join('/'), path, named: false }))
    .filter(({ file }) => matches(file))
  if (found.length > 0) return found
  throw new Failure('input', `${pattern} matches no file.`, {
    help: 'Quote a glob so that the shell leaves it alone; `**` stands for any number of directories.',
  })
}

/** A test file, by its name. */
export function isTestFile(file: string): boolean {
  return /\.gwtest\.(?:ya?ml|jsonc?)$/i.test(file)
}

const CONFIGURATION = /\.(?:ya?ml|jsonc?)$/i
/** Whether a file below a directory is included when the directory is given. */
export function isConfiguration(path: string): boolean {
  const folders = path.split('/').slice(0, -1)
  const hidden = path.split('/').some(name => name.startsWith('.'))
  return CONFIGURATION.test(path) && !hidden && !folders.some(name => NOT_ENTERED.has(name))
}

/** Package and version control directories are not ours, nor are hidden ones. */
const NOT_ENTERED: ReadonlySet<string> = new Set(['node_modules', '__pycache__'])

/** Files below a directory by name, without following links to directories, which may be cyclic. */
function* walk(folder: string, into: Found, wanted = (name: string) => CONFIGURATION.test(name)): Generator<string> {
  let entries: ReturnType<typeof entriesOf>
  try {
    entries = entriesOf(folder)
  } catch (error) {
    into.failures.push(cannotRead(folder, error))
    return
  }
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (!NOT_ENTERED.has(entry.name)) yield* walk(path, into, wanted)
    } else if (wanted(entry.name) && (entry.isFile() || (entry.isSymbolicLink() && isFile(path)))) yield path
  }
}

function entriesOf(folder: string) {
  return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

/** Reads a file, or stdin for `-`, up to a size. Throws an input Failure with the reason. */
export async function readInput(path: string, place: InputPlace, most = MAX_FILE): Promise<InputText> {
  const input =
    path === '-'
      ? { file: '<stdin>', path: undefined, named: true }
      : { file: path, path: resolve(place.cwd, path), named: true }
  const { text } = await readInputFile(input, place, most)
  return { file: input.file, text }
}

/** The name of a path for messages; it may be `-`. */
export function nameOf(path: string): string {
  return path === '-' ? 'stdin' : path
}

/** The bytes of a file and their text. Throws an input Failure with the reason. */
export async function readInputFile(
  input: InputFile,
  place: InputPlace,
  most = MAX_FILE,
): Promise<{ readonly bytes: Buffer; readonly text: string }> {
  const bytes =
    input.path === undefined ? await readStream(place.stdin, most) : readBytes(input.file, input.path, place, most)
  const text = inputText(input.file, bytes, most)
  if (input.path === undefined && !place.allowEmpty && holdsNothing(text)) throw emptyStdin(text)
  return { bytes, text }
}

/** White space, comments and document separators, as from a chart that renders nothing. */
function holdsNothing(text: string): boolean {
  return !/^(?![ \t]*(?:#|\r?$)|(?:---|\.\.\.)[ \t]*(?:#|\r?$))/m.test(text)
}

/** Usually the command before the pipe has failed. */
function emptyStdin(text: string): Failure {
  return new Failure('input', text.trim() === '' ? 'stdin is empty.' : 'stdin contains only comments.', {
    help: 'Has the command before the pipe failed? `set -o pipefail` makes the shell stop then.',
  })
}

/** Decodes the bytes of a file. Throws an input Failure if they are not text. */
export function inputText(file: string, bytes: Buffer, most = MAX_FILE): string {
  if (bytes.length > most) throw tooLarge(file, most)
  const read = readText(bytes)
  if ('text' in read) return read.text
  throw new Failure(
    'input',
    read.problem === 'binary' ? `${file} is a binary file, not text.` : `${file} is neither UTF-8 nor UTF-16 text.`,
    { help: 'Name a YAML or JSON file.' },
  )
}

function readBytes(name: string, path: string, { cwd, trusted = false }: InputPlace, most: number): Buffer {
  statFile(name, path)
  const place = placeOf(path, cwd)
  const bounded = place.bounds && !trusted
  if (bounded && leadsOut(path, place)) {
    throw new Failure('input', `cannot read ${visible(name)}: a link in its path leads out of ${place.shown}.`, {
      help: 'Name the file that it leads to.',
    })
  }
  try {
    return bounded ? readRegularFile(path, most) : readAnyFile(path, most)
  } catch (error) {
    if (!(error instanceof NotReadable)) throw cannotRead(name, error)
    if (error.reason === 'too large') throw tooLarge(name, most)
    throw new Failure('input', `cannot read ${visible(name)}: it is not a regular file.`, {
      help: 'Name a file, or - and hand the text over on stdin.',
    })
  }
}

/** Throws an input Failure if the file does not exist. */
export function statFile(name: string, path: string): Stats {
  const info = statOf(name, path)
  if (info === undefined) throw missing(name, path)
  if (info.isDirectory()) throw new Failure('input', `${name} is a directory.`, { help: 'Name a file in it.' })
  return info
}

/** Undefined if it does not exist. Throws an input Failure on other errors. */
export function statOf(name: string, path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw cannotRead(name, error)
  }
}

function tooLarge(name: string, most: number): Failure {
  return new Failure('input', `${name} is too large: it holds more than ${most / 1024 / 1024} MiB.`, {
    help: 'Split it into several files.',
  })
}

async function readStream(stream: NodeJS.ReadableStream, most: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Buffer)
    size += bytes.length
    if (size > most) throw tooLarge('stdin', most)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

/** Suggests similar names in the deepest existing directory. */
function missing(path: string, full: string): Failure {
  let folder = dirname(full)
  let name = basename(full)
  while (statSync(folder, { throwIfNoEntry: false }) === undefined && dirname(folder) !== folder) {
    name = basename(folder)
    folder = dirname(folder)
  }
  let names: string[] = []
  try {
    names = readdirSync(folder)
  } catch {
    // No suggestions then.
  }
  const guess = didYouMean(name, names)
  const where = folder === dirname(full) ? '' : ` (there is no ${visible(name)} in ${visible(folder)})`
  return new Failure('input', `${visible(path)} does not exist${where}${guess === undefined ? '.' : `: ${guess}`}`, {
    help: 'Name an existing file, or - for stdin.',
  })
}

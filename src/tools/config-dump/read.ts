import { Failure } from '../../diagnostics/failure.ts'
import { MAX_FILE } from '../../files/read-file.ts'
import { type AdminServer, getJson } from '../admin/admin-client.ts'
import { type InputPlace, type InputText, MAX_RECORDED, nameOf, readInput } from '../input/input-files.ts'

/** A configuration dump: what a gateway has loaded. Already redacted by that gateway. */
export type Dump = Readonly<Record<string, unknown>>

export async function fetchDump(admin: AdminServer): Promise<Dump> {
  const value = await getJson(admin, 'config_dump')
  const problem = problemOf(value)
  if (problem === undefined) return value as Dump
  throw new Failure('unreachable', `${admin.name} answered /config_dump with something that ${problem}.`, {
    help: 'Is that the admin address of a gateway?',
  })
}

/** A saved dump, JSON or YAML; `-` is stdin. Throws a Failure `input`. */
export async function readDump(path: string, place: InputPlace): Promise<Dump> {
  const { text } = await readInput(path, place, MAX_RECORDED)
  const name = nameOf(path)
  const json = /^\s*\{/.test(text)
  if (!json && text.length > MAX_FILE) throw tooLargeForYaml(name)
  const value = json ? parseJson(text, name) : await parseYaml(text, name)
  const problem = problemOf(value)
  if (problem === undefined) return value as Dump
  throw new Failure('input', `${name} ${problem}.`, {
    help: `Save one with \`gwctl dump -o json\`. Of a configuration, \`gwctl dump --config ${path}\` shows what it comes to.`,
  })
}

/** The dump in a text. Undefined if it does not look like one. */
export async function dumpIn({ file, text }: InputText): Promise<Dump | undefined> {
  // Configurations have no version.
  if (!/^version:/m.test(text) && !/^\s*\{.*"version"/s.test(text)) return undefined
  let value: unknown
  try {
    value = /^\s*\{/.test(text) ? parseJson(text, file) : await parseYaml(text, file)
  } catch (error) {
    if (error instanceof Failure) return undefined
    throw error
  }
  return problemOf(value) === undefined && 'version' in (value as Dump) ? (value as Dump) : undefined
}

function parseJson(text: string, name: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Failure('input', `${name} is not valid JSON: ${(error as Error).message}.`, { cause: error })
  }
}

/** Parsed YAML keeps the position of every value, which takes a hundred times the size of its text. */
function tooLargeForYaml(name: string): Failure {
  return new Failure('input', `${name} is too large for YAML: it holds more than ${MAX_FILE / 1024 / 1024} MiB.`, {
    help: 'Save the dump with `gwctl dump -o json`.',
  })
}

/** `gwctl dump` also writes YAML. */
async function parseYaml(text: string, name: string): Promise<unknown> {
  const { parseSource } = await import('../../diagnostics/source.ts')
  const source = parseSource(name, text)
  const first = source.diagnostics.find(({ severity }) => severity === 'error')
  if (first !== undefined) {
    throw new Failure('input', `${name}:${first.range.start.line}: ${first.message}`)
  }
  return source.documents[0]?.value
}

/** Keys of every dump and of no configuration file; both have `binds`. */
const DUMP_KEYS = ['routes', 'backends', 'policies', 'services', 'workloads', 'version', 'config']

function problemOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'is not a configuration dump: it is not a map'
  if (!('binds' in value)) return 'is not a configuration dump: it has no binds'
  const { binds } = value
  if (!Array.isArray(binds)) return 'is not a configuration dump: its binds are not a list'
  const known = DUMP_KEYS.filter(key => key in value)
  const keyed = binds.every(bind => typeof bind === 'object' && bind !== null && 'key' in bind)
  if (known.length < 2 || !keyed) return 'is a configuration file and no dump: check it with `gwctl validate`'
  return undefined
}

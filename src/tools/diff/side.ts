import { createHmac, randomBytes } from 'node:crypto'
import type { ReadReferenced } from '../../config/compile-context.ts'
import { dumpOf } from '../../config/dump.ts'
import type { Loaded } from '../../config/load.ts'
import { offlineRuntime } from '../../config/offline-runtime.ts'
import type { Path } from '../../diagnostics/diagnostic.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { plainPaint } from '../../diagnostics/paint.ts'
import { renderConcise } from '../../diagnostics/render/concise.ts'
import { type Conceal, REDACTED } from '../../schema/redact.ts'
import { Leaf } from '../../schema/settle.ts'
import type { AdminServer } from '../admin/admin-client.ts'
import { reportOf } from '../check/check.ts'
import { holdsResources, loadInput, referencedWithin } from '../check/check-documents.ts'
import { type DumpDocument, modelOf } from '../config-dump/model.ts'
import { dumpIn, fetchDump } from '../config-dump/read.ts'
import { type InputPlace, type InputText, readInput } from '../input/input-files.ts'
import { isDirectory, readServed } from '../input/served-input.ts'
import { readRevision } from './git-revision.ts'
import { Places } from './origins.ts'
import type { Part, Place } from './parts.ts'

/** One of the two configurations to compare. */
export interface Side {
  /** As given by the user. */
  readonly name: string
  readonly dump: DumpDocument
  /** The source of the snapshot. Undefined for a dump, with which nothing can be run. */
  readonly configuration: Configuration | undefined
  /** The location of a part of an object, `file:line:column`, as precise as known. */
  originOf(place: Place, inner: Path): string
  /** Files that the configuration references, by content. */
  files(): readonly Part[]
}

export interface Configuration {
  readonly texts: readonly InputText[]
  readonly readReferenced?: ReadReferenced
}

export interface SideOptions extends InputPlace {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Resources missing from the input are assumed to exist. */
  readonly partial: boolean
  /** The gateway for `live`. */
  readonly admin: () => Promise<AdminServer>
  /** Reports progress. */
  progress(text: string): void
}

/** Reads both sides. Throws a Failure that names the one that cannot be read or compiled. */
export async function readSides(names: readonly [string, string], options: SideOptions): Promise<[Side, Side]> {
  const [before, after] = operandsOf(names)
  const conceal = concealer()
  return [await readSide(before, options, conceal), await readSide(after, options, conceal)]
}

interface Operand {
  readonly name: string
  readonly revision?: string
  /** Unset: the running gateway. */
  readonly path?: string
}

function operandsOf([left, right]: readonly [string, string]): [Operand, Operand] {
  if (left === '-' && right === '-') {
    throw new Failure('usage', 'both sides cannot be stdin.', { help: 'Name a file for one of them.' })
  }
  const [before, after] = [operandOf(left), operandOf(right)]
  return [completed(before, after), completed(after, before)]
}

function operandOf(name: string): Operand {
  if (name === 'live') return { name }
  const [, revision, path] = /^git:([^:]*)(?::(.*))?$/s.exec(name) ?? []
  if (revision === undefined) return { name, path: name }
  if (revision === '') {
    throw new Failure('usage', `${name} names no revision.`, { help: 'Write git:REVISION:PATH, for example git:HEAD.' })
  }
  return path === undefined || path === '' ? { name, revision } : { name, revision, path }
}

/** A revision without a path uses the other side's path. */
function completed(operand: Operand, { path, name }: Operand): Operand {
  if (operand.revision === undefined || operand.path !== undefined) return operand
  if (path !== undefined && path !== '-') return { ...operand, path }
  throw new Failure('usage', `${operand.name} names no path, and neither does ${name}.`, {
    help: `Write ${operand.name}:PATH.`,
  })
}

/** Placeholders that are equal for equal secrets within this run, and carry no other information. */
function concealer(): Conceal {
  const key = randomBytes(32)
  const mark = (secret: unknown) =>
    createHmac('sha256', key)
      .update(JSON.stringify(secret) ?? '')
      .digest('base64url')
  return secret => `${REDACTED.slice(0, -1)} ${mark(secret)}>`
}

async function readSide(operand: Operand, options: SideOptions, conceal: Conceal): Promise<Side> {
  const { name, path, revision } = operand
  options.progress(`Reading ${name}`)
  if (path === undefined) return dumpSide(name, modelOf(await fetchDump(await options.admin()), name))
  const configuration = await readConfiguration(path, revision, options)
  const [first, ...others] = configuration.texts
  const dump = first && others.length === 0 ? await dumpIn(first) : undefined
  return dump ? dumpSide(name, modelOf(dump, name)) : compiledSide(name, configuration, options, conceal)
}

async function readConfiguration(
  path: string,
  revision: string | undefined,
  options: SideOptions,
): Promise<Configuration> {
  if (revision !== undefined) {
    const { texts, directory, readReferenced } = await readRevision(revision, path, options.cwd)
    if (!directory) return { texts, readReferenced }
    const resources = texts.filter(holdsResources)
    if (resources.length > 0) return { texts: resources }
    throw new Failure('input', `${path} holds no resources at ${revision}.`, { help: 'Name a file.' })
  }
  if (path !== '-' && isDirectory(path, options.cwd)) return { texts: await readServed(path, options) }
  return { texts: [await readInput(path, options)] }
}

function dumpSide(name: string, dump: DumpDocument): Side {
  const originOf = ({ origin, fields }: Place, [field]: Path) => fields?.get(String(field)) ?? origin
  return { name, dump, configuration: undefined, originOf, files: () => [] }
}

async function compiledSide(
  name: string,
  configuration: Configuration,
  options: SideOptions,
  conceal: Conceal,
): Promise<Side> {
  const files = new Map<string, string>()
  const loaded = await compile(configuration, options, conceal, (path, bytes) =>
    files.set(path, conceal(bytes.toString('base64'))),
  )
  const { snapshot } = loaded
  const errors = loaded.diagnostics.filter(({ severity }) => severity === 'error')
  if (errors.length > 0 || !snapshot) {
    const report = await reportOf(configuration.texts, { ...loaded, diagnostics: errors }, options.cwd)
    throw new Failure('input', `${name} cannot be compared:`, {
      help: renderConcise(report, { paint: plainPaint, maxProblems: 20 }).trimEnd(),
    })
  }
  const places = new Places(loaded.source.documents.find(document => !document.empty))
  return {
    name,
    dump: dumpOf(snapshot, ''),
    configuration,
    originOf: (place, inner) => places.originOf(place, inner),
    files: () => [...files].map(([path, mark]) => filePart(path, mark)),
  }
}

async function compile(
  { texts, readReferenced }: Configuration,
  { cwd, env, partial }: SideOptions,
  conceal: Conceal,
  seen: (path: string, bytes: Buffer) => void,
): Promise<Loaded> {
  const [first] = texts
  if (!first || texts.length > 1 || holdsResources(first)) {
    const { loadResources } = await import('../input/translate-resources.ts')
    const { loaded, files } = await loadResources(texts, { cwd, env, conceal, partial }, offlineRuntime())
    for (const [path, { bytes }] of files) seen(path, bytes)
    return loaded
  }
  const read = readReferenced ?? referencedWithin(first.file, cwd)
  const watched: ReadReferenced = path => {
    const bytes = read(path)
    if (Buffer.isBuffer(bytes)) seen(path, bytes)
    return bytes
  }
  return loadInput(first, { cwd, env, tier: 'offline', conceal, readReferenced: watched }, offlineRuntime())
}

function filePart(path: string, mark: string): Part {
  const place = { origin: path }
  const settled = () => ({ content: new Leaf(mark, mark, false) })
  const summary = ''
  return {
    kind: 'file',
    name: path,
    named: true,
    label: `file ${path}`,
    summary,
    written: mark,
    routes: 'all',
    settled,
    place,
    parts: [],
  }
}

import { dirname, resolve } from 'node:path'
import type { ResourceSet } from '../../cluster/resources/check.ts'
import { classify, type DocumentClass } from '../../cluster/resources/classify.ts'
import type { Resource } from '../../cluster/resources/resource.ts'
import type { LeftAlone, ReadReferenced, Tier } from '../../config/compile-context.ts'
import { Engines } from '../../config/engines.ts'
import { mostHeld } from '../../config/held-bodies.ts'
import { type Loaded, type LoadOptions, load, loadSource, readStandalone } from '../../config/load.ts'
import { offlineRuntime } from '../../config/offline-runtime.ts'
import type { Snapshot } from '../../config/snapshot.ts'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { withoutEchoes } from '../../diagnostics/echoes.ts'
import type { Checked, Skipped } from '../../diagnostics/render/report.ts'
import { parseSource, type Source, type SourceDocument, withoutTrees } from '../../diagnostics/source.ts'
import { readingUnderYaml11 } from '../../diagnostics/source-scalars.ts'
import { documentsIn } from '../../diagnostics/source-text.ts'
import { leadsOut, placeOf } from '../../files/place.ts'
import { readIfRegular } from '../../files/read-file.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { InputText } from '../input/input-files.ts'
import { foreignDocument, recognize } from './recognize.ts'

export interface DocumentOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly tier: Tier
  /** The input is part of a configuration: unresolved names become notes. */
  readonly partial?: boolean
  /** The kind of the documents; `auto` detects it for each. */
  readonly mode?: 'auto' | 'standalone' | 'cluster'
  /** Separates resources that are never applied together. Unset: they all are. */
  readonly partition?: (resources: readonly Resource[]) => readonly ResourceSet[]
  /** Reports progress on many files. */
  progress?(text: string): void
}

/** Fewer files are checked too quickly for progress to be readable. */
const MANY = 100

export interface Text extends InputText {
  /** Documents that are not ours are skipped: the file was not named explicitly. */
  readonly lenient: boolean
  /** Also skip it if it cannot be parsed. */
  readonly foreignWhenBroken?: boolean
}

export interface CheckedTexts {
  readonly diagnostics: readonly Diagnostic[]
  /** The files with something to check, and the number of documents checked in each. */
  readonly checked: readonly Checked[]
  readonly skipped: readonly Skipped[]
}

/** Checks each standalone document by itself, as `run` would start it, and all resources together. */
export async function checkTexts(texts: readonly Text[], options: DocumentOptions): Promise<CheckedTexts> {
  const diagnostics: Diagnostic[] = []
  const checked: (Checked & { documents: number })[] = []
  const skipped: Skipped[] = []
  const clusters: Cluster[] = []
  const engines = new Engines()
  for (const [done, text] of texts.entries()) {
    if (texts.length > MANY && done % MANY === 0) options.progress?.(`Checking: ${done} of ${texts.length} files`)
    const source = readStandalone(text.file, text.text, options)
    const { standalone, resources, left } = sort(source, text, options)
    skipped.push(...left)
    if (resources.length === 0 && standalone.length === 0) continue
    const [only, second] = source.documents
    const stranger =
      text.lenient || !only || second || (options.mode ?? 'auto') !== 'auto' ? undefined : foreignDocument(only)
    if (only && stranger) {
      diagnostics.push(only.resolve(stranger))
      checked.push({ file: text.file, documents: 1 })
      continue
    }
    if (resources.length > 0) clusters.push({ file: text.file, source: withoutVariables(source, resources) })
    let held: Snapshot['bodies'] | undefined
    if (standalone.length > 0) {
      const all = { ...loadOptions(text.file, options, offlineRuntime()), engines, shown: false }
      const loaded = await loadSource(source, all, standalone)
      held = loaded.snapshot?.bodies
      diagnostics.push(...loaded.diagnostics.map(d => (options.partial ? asNote(d) : d)))
    }
    // Resources do not use variables, so unset ones do not matter.
    const variables = standalone.length > 0 && options.tier !== 'syntax'
    const ours = new Set([...standalone, ...resources].map(({ index }) => index))
    const ofOurs = (d: Diagnostic) => !text.lenient || ours.has(d.document?.index ?? 1)
    diagnostics.push(...source.diagnostics.filter(d => (variables || d.code !== 'GW205') && ofOurs(d)))
    const documents = standalone.filter(document => !document.empty).length
    const bodies = held && mostHeld(held)
    checked.push({
      file: text.file,
      documents: documents + resources.length,
      ...(bodies === undefined ? {} : { bodies }),
    })
  }
  if (clusters.length > 0) {
    const lenient = new Set(texts.filter(each => each.lenient).map(each => each.file))
    for (const left of await checkTogether(clusters, lenient, options, diagnostics)) {
      skipped.push(left)
      const entry = checked.find(each => each.file === left.file)
      if (entry) entry.documents--
    }
  }
  const dropped = new Set(checked.filter(({ documents, file }) => documents === 0 && isForeign(file)).map(c => c.file))
  return { diagnostics: withoutEchoes(diagnostics), checked: checked.filter(({ file }) => !dropped.has(file)), skipped }

  /** All of its documents were skipped, and its text has no mistakes. */
  function isForeign(file: string): boolean {
    return skipped.some(each => each.file === file) && !diagnostics.some(d => d.file === file)
  }
}

interface Cluster {
  readonly file: string
  readonly source: Source
}

/** Checks the resources of all files together; findings about the text of foreign documents are withdrawn. */
async function checkTogether(
  clusters: readonly Cluster[],
  lenient: ReadonlySet<string>,
  options: DocumentOptions,
  diagnostics: Diagnostic[],
): Promise<Skipped[]> {
  const { agreed, checkResources } = await import('../../cluster/resources/check.ts')
  const { partition, partial = false } = options
  const alone = options.tier === 'syntax'
  if (clusters.length > MANY) options.progress?.(`Checking resources of ${clusters.length} files together`)
  const found = await checkResources(clusters, { partial, alone, ...(partition && { partition }) })
  misreadByServers(diagnostics, clusters, found.resources)
  diagnostics.push(...found.diagnostics)
  for (const { file, document } of unrelated(found.resources)) {
    if (lenient.has(file)) dropFindings(diagnostics, file, document.index)
  }
  const wrong = new Set(diagnostics.filter(({ severity }) => severity === 'error').map(({ file }) => file))
  const sets = found.sets.filter(({ resources }) => !resources.some(({ file }) => wrong.has(file)))
  if (!alone && found.resources.length > 0 && sets.length > 0) {
    const { advise } = await import('../../cluster/translate/advice/advise.ts')
    const bySet: Diagnostic[][] = []
    for (const { resources } of sets) {
      bySet.push(await advise(resources, { partial, runtime: offlineRuntime(), engines: found.engines }))
    }
    diagnostics.push(...agreed(sets, bySet))
  }
  return found.skipped.map(({ file, index, kind, reason }) => {
    if (lenient.has(file)) dropFindings(diagnostics, file, index)
    return { file, document: index, reason: `${kind}: ${reason}` }
  })
}

/** Services, Secrets and the like of applications, in namespaces that the gateway does not use. */
function unrelated(resources: readonly Resource[]): Resource[] {
  const ours = resources.filter(({ kind }) => !OF_KUBERNETES.has(kind.group))
  const namespaces = new Set(ours.map(({ namespace }) => namespace))
  const documents = new Set(ours.map(({ document }) => document))
  return resources.filter(
    ({ kind, namespace, document }) =>
      OF_KUBERNETES.has(kind.group) && !namespaces.has(namespace) && !documents.has(document),
  )
}
const OF_KUBERNETES: ReadonlySet<string> = new Set(['', 'discovery.k8s.io'])

/** Drops findings about the text of a document that turned out to be foreign. */
function dropFindings(diagnostics: Diagnostic[], file: string, index: number): void {
  for (let at = diagnostics.length - 1; at >= 0; at--) {
    const d = diagnostics[at]!
    if (d.file === file && (d.document?.index ?? 1) === index) diagnostics.splice(at, 1)
  }
}

/** API servers read YAML 1.1 and reject a boolean where text is expected. */
function misreadByServers(
  diagnostics: Diagnostic[],
  clusters: readonly Cluster[],
  resources: readonly { readonly file: string; readonly document: SourceDocument }[],
): void {
  for (const [at, d] of diagnostics.entries()) {
    if (d.code !== 'GW005') continue
    const text = clusters.find(({ file }) => file === d.file)?.source.text
    const written = text?.slice(d.range.start.offset, d.range.end.offset) ?? ''
    const isResource = resources.some(
      ({ file, document }) => file === d.file && document.index === (d.document?.index ?? 1),
    )
    if (!isResource || !/^(true|false)$/.test(readingUnderYaml11(written) ?? '')) continue
    diagnostics[at] = { ...d, severity: 'error', note: 'API servers read YAML 1.1' }
  }
}

interface Sorted {
  readonly standalone: readonly SourceDocument[]
  readonly resources: readonly SourceDocument[]
  readonly left: readonly Skipped[]
}

function sort(source: Source, text: Text, { mode = 'auto' }: DocumentOptions): Sorted {
  const classes = new Map(source.documents.map(document => [document, classify(document)]))
  const of = (wanted: DocumentClass) => source.documents.filter(document => classes.get(document) === wanted)
  const broken = text.foreignWhenBroken ? [] : source.documents.filter(document => document.broken)
  if (mode === 'standalone') return { standalone: source.documents, resources: [], left: [] }
  if (mode === 'cluster') {
    return { standalone: broken, resources: source.documents.filter(each => !each.broken && !each.empty), left: [] }
  }
  const resources = of('resource')
  if (text.lenient) return siftLenient(source, text)
  if (resources.length > 0) {
    return { standalone: [...of('standalone'), ...broken], resources: [...resources, ...of('foreign')], left: [] }
  }
  return { standalone: source.documents, resources: [], left: [] }
}

/** Keeps what looks like ours; the rest is skipped with a reason. */
function siftLenient(source: Source, { file, foreignWhenBroken }: Text): Sorted {
  const standalone: SourceDocument[] = []
  const resources: SourceDocument[] = []
  const left: Skipped[] = []
  const template = source.diagnostics.some(({ code }) => code === 'GW004')
  for (const document of source.documents) {
    const number = document.of > 1 ? { document: document.index } : {}
    const found = recognize(document)
    if (document.broken) {
      if (template) left.push({ file, ...number, reason: 'a template: render it first' })
      else if (foreignWhenBroken)
        left.push({ file, ...number, reason: 'not YAML, and nothing in it looks like a gateway configuration' })
      else standalone.push(document)
    } else if (found.kind === 'foreign') left.push({ file, ...number, reason: `not for the gateway: ${found.reason}` })
    else if (found.kind === 'resource') resources.push(document)
    else if (found.kind === 'standalone') standalone.push(document)
  }
  if (source.documents.every(document => document.empty)) left.push({ file, reason: 'empty' })
  return { standalone, resources, left }
}

/** The same documents as resources, in which `$` is literal. */
function withoutVariables(source: Source, documents: readonly SourceDocument[]): Source {
  const read = source.text.includes('$') ? parseSource(source.file, source.text) : source
  const wanted = new Set(documents.map(document => document.index))
  const kept = withoutTrees(read)
  return { ...kept, documents: kept.documents.filter(document => wanted.has(document.index)) }
}

function asNote(d: Diagnostic): Diagnostic {
  return d.code === 'GW201' || d.code === 'GW204' ? { ...d, severity: 'info' } : d
}

export interface RunOptions
  extends Pick<DocumentOptions, 'cwd' | 'env' | 'tier'>,
    Pick<LoadOptions, 'conceal' | 'advice' | 'parsed'> {
  readonly readReferenced?: ReadReferenced
  /** The input is part of a configuration: references to missing resources are not mistakes. */
  readonly partial?: boolean
}

/** Loads a standalone file, or the resources in a file, as `run` does. */
export async function loadInput(input: InputText, options: RunOptions, runtime: Runtime): Promise<Loaded> {
  const { readReferenced, conceal, advice = true, parsed } = options
  if (holdsResources(input)) {
    return (await (await import('../input/translate-resources.ts')).loadResources([input], options, runtime)).loaded
  }
  return load(input.file, input.text, {
    ...loadOptions(input.file, options, runtime),
    ...(readReferenced === undefined ? {} : { readReferenced }),
    ...(conceal === undefined ? {} : { conceal }),
    ...(parsed === undefined ? {} : { parsed }),
    advice,
  })
}

/** Resources, and no standalone configuration among them. */
export function holdsResources({ file, text }: InputText): boolean {
  if (!/(?:^|[{,])\s*"?(?:kind|apiVersion)"?\s*:/m.test(text)) return false
  // A line that starts with `kind:` is conclusive, so large inputs are not parsed twice.
  if (documentsIn(text).every(document => /^kind:/m.test(document) || !/^[^\s#-]/m.test(document))) return true
  const classes = parseSource(file, text).documents.map(classify)
  return classes.includes('resource') && !classes.includes('standalone')
}

/** Reads the files that a configuration references, wherever they are, with the trust of whoever runs the gateway. */
export function referencedBy(file: string, cwd: string): (path: string) => Buffer | undefined {
  const folder = folderOf(file, cwd)
  return path => readIfRegular(resolve(folder, path))
}

/** The same for a configuration from an untrusted author: nothing outside its directory is read. */
export function referencedWithin(file: string, cwd: string): ReadReferenced {
  const folder = folderOf(file, cwd)
  const place = placeOf(resolve(folder, 'any'), cwd)
  return (path): Buffer | LeftAlone | undefined => {
    const full = resolve(folder, path)
    return leadsOut(full, place) ? { outsideOf: place.shown } : readIfRegular(full)
  }
}

function folderOf(file: string, cwd: string): string {
  return file.startsWith('<') ? cwd : dirname(resolve(cwd, file))
}

/** Referenced files are relative to the configuration. */
function loadOptions(file: string, options: Pick<DocumentOptions, 'cwd' | 'env' | 'tier'>, runtime: Runtime) {
  return {
    env: options.env,
    tier: options.tier,
    runtime,
    readReferenced: (options.tier === 'env' ? referencedBy : referencedWithin)(file, options.cwd),
  }
}

import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { ReadReferenced, Tier } from '../config/compile-context.ts'
import { Engines } from '../config/engines.ts'
import { type Loaded, type LoadOptions, load, loadSource, readStandalone } from '../config/load.ts'
import { offlineRuntime } from '../config/offline-runtime.ts'
import { classify, type DocumentClass, keysOf } from '../config/resources/classify.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { withoutEchoes } from '../diagnostics/echoes.ts'
import type { Skipped } from '../diagnostics/render/report.ts'
import { parseSource, type Source, type SourceDocument, withoutTrees } from '../diagnostics/source.ts'
import { readingUnderYaml11 } from '../diagnostics/source-scalars.ts'
import { documentsIn } from '../diagnostics/source-text.ts'
import type { Runtime } from '../http/runtime.ts'
import type { InputText } from './input-files.ts'

export interface DocumentOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly tier: Tier
  /** The input is part of a configuration: unresolved names become notes. */
  readonly partial?: boolean
  /** What the documents are; `auto` looks at each. */
  readonly mode?: 'auto' | 'standalone' | 'cluster'
  /** For whoever waits for many files. */
  progress?(text: string): void
}

/** Fewer files are checked before anybody could read how many are left. */
const MANY = 100

export interface Text extends InputText {
  /** What is not ours in it is skipped: nobody said that it is. */
  readonly lenient: boolean
  /** Skipped too when it cannot be parsed. */
  readonly foreignWhenBroken?: boolean
}

export interface CheckedTexts {
  readonly diagnostics: readonly Diagnostic[]
  /** The files in which there was something to check, and how many documents of theirs were. */
  readonly checked: readonly { readonly file: string; readonly documents: number }[]
  readonly skipped: readonly Skipped[]
}

/** Checks each standalone document by itself, as `run` would start it, and all resources together. */
export async function checkTexts(texts: readonly Text[], options: DocumentOptions): Promise<CheckedTexts> {
  const diagnostics: Diagnostic[] = []
  const checked: { file: string; documents: number }[] = []
  const skipped: Skipped[] = []
  const clusters: { readonly file: string; readonly source: Source }[] = []
  const engines = new Engines()
  for (const [done, text] of texts.entries()) {
    if (texts.length > MANY && done % MANY === 0) options.progress?.(`Checking: ${done} of ${texts.length} files`)
    const source = readStandalone(text.file, text.text, options)
    const { standalone, resources, left } = sort(source, text, options)
    skipped.push(...left)
    if (resources.length === 0 && standalone.length === 0) continue
    if (resources.length > 0) clusters.push({ file: text.file, source: withoutVariables(source, resources) })
    if (standalone.length > 0) {
      const all = { ...loadOptions(text.file, options, offlineRuntime()), engines, shown: false }
      const loaded = await loadSource(source, all, standalone)
      diagnostics.push(...loaded.diagnostics.map(d => (options.partial ? asNote(d) : d)))
    }
    // Unset variables mean nothing in resources.
    const variables = standalone.length > 0 && options.tier !== 'syntax'
    diagnostics.push(...source.diagnostics.filter(d => variables || d.code !== 'GW205'))
    const documents = standalone.filter(document => !document.empty).length
    checked.push({ file: text.file, documents: documents + resources.length })
  }
  if (clusters.length > 0) {
    const { checkResources } = await import('../config/resources/check.ts')
    const alone = options.tier === 'syntax'
    if (clusters.length > MANY) options.progress?.(`Checking resources of ${clusters.length} files together`)
    const found = await checkResources(clusters, { partial: options.partial ?? false, alone })
    misreadByServers(diagnostics, clusters, found.resources)
    diagnostics.push(...found.diagnostics)
    if (!alone && found.resources.length > 0 && !found.diagnostics.some(({ severity }) => severity === 'error')) {
      const { advise } = await import('../config/translate/advice/advise.ts')
      const partial = options.partial ?? false
      diagnostics.push(
        ...(await advise(found.resources, { partial, runtime: offlineRuntime(), engines: found.engines })),
      )
    }
    for (const { file, index, kind, reason } of found.skipped) {
      skipped.push({ file, document: index, reason: `${kind}: ${reason}` })
      const entry = checked.find(each => each.file === file)
      if (entry) entry.documents--
    }
  }
  const dropped = new Set(checked.filter(({ documents, file }) => documents === 0 && isForeign(file)).map(c => c.file))
  return { diagnostics: withoutEchoes(diagnostics), checked: checked.filter(({ file }) => !dropped.has(file)), skipped }

  /** All of its documents were skipped, and nothing was wrong with its text. */
  function isForeign(file: string): boolean {
    return skipped.some(each => each.file === file) && !diagnostics.some(d => d.file === file)
  }
}

/** API servers read YAML 1.1: what it takes for a boolean is no text to them, and they refuse it. */
function misreadByServers(
  diagnostics: Diagnostic[],
  clusters: readonly { readonly file: string; readonly source: Source }[],
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

/** Whether a text that cannot be parsed was meant for the gateway. */
export function looksLikeOurs(text: string): boolean {
  return (
    /^(?:binds|llm|mcp|gateways|routes|tcpRoutes|routeGroups|frontendPolicies)\s*:/m.test(text) ||
    /^\s*kind\s*:\s*["']?(?:Gateway|GatewayClass|ListenerSet|\w+Route|ReferenceGrant|BackendTLSPolicy|Proxy\w+|Agentgateway\w+)\b/m.test(
      text,
    )
  )
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
  if (text.lenient) {
    const left = of('foreign').map(({ index, of, value }): Skipped => {
      const number = of > 1 ? { document: index } : {}
      return { file: text.file, ...number, reason: `no configuration of the gateway (${keysOf(value)})` }
    })
    const empty = source.documents.every(document => document.empty)
    if (empty) left.push({ file: text.file, reason: 'empty' })
    const unparsed = text.foreignWhenBroken && source.documents.some(document => document.broken)
    if (unparsed) left.push({ file: text.file, reason: 'not YAML, and nothing in it looks like ours' })
    return { standalone: [...of('standalone'), ...broken], resources, left }
  }
  if (resources.length > 0) {
    return { standalone: [...of('standalone'), ...broken], resources: [...resources, ...of('foreign')], left: [] }
  }
  return { standalone: source.documents, resources: [], left: [] }
}

/** The same documents as resources are read: a `$` in them is a dollar sign. */
function withoutVariables(source: Source, documents: readonly SourceDocument[]): Source {
  const read = source.text.includes('$') ? parseSource(source.file, source.text) : source
  const wanted = new Set(documents.map(document => document.index))
  const kept = withoutTrees(read)
  return { ...kept, documents: kept.documents.filter(document => wanted.has(document.index)) }
}

function asNote(d: Diagnostic): Diagnostic {
  return d.code === 'GW201' || d.code === 'GW204' ? { ...d, severity: 'info' } : d
}

export interface RunOptions extends Pick<DocumentOptions, 'cwd' | 'env' | 'tier'>, Pick<LoadOptions, 'conceal'> {
  readonly readReferenced?: ReadReferenced
  /** The input is part of a configuration: names of resources that are not in it are no mistakes. */
  readonly partial?: boolean
}

/** One standalone file, or the resources of one, as `run` loads it. */
export async function loadInput(input: InputText, options: RunOptions, runtime: Runtime): Promise<Loaded> {
  const { readReferenced, conceal } = options
  if (holdsResources(input)) {
    return (await (await import('./translate.ts')).loadResources([input], options, runtime)).loaded
  }
  return load(input.file, input.text, {
    ...loadOptions(input.file, options, runtime),
    ...(readReferenced === undefined ? {} : { readReferenced }),
    ...(conceal === undefined ? {} : { conceal }),
  })
}

/** Resources, and no standalone configuration among them. */
export function holdsResources({ file, text }: InputText): boolean {
  if (!/(?:^|[{,])\s*"?(?:kind|apiVersion)"?\s*:/m.test(text)) return false
  // What begins a line and says its kind needs no second look, and large inputs are not read twice.
  if (documentsIn(text).every(document => /^kind:/m.test(document) || !/^[^\s#-]/m.test(document))) return true
  const classes = parseSource(file, text).documents.map(classify)
  return classes.includes('resource') && !classes.includes('standalone')
}

/** Reads the files that a configuration names. */
export function referencedBy(file: string, cwd: string): ReadReferenced {
  const folder = file.startsWith('<') ? cwd : dirname(resolve(cwd, file))
  return path => readOrUndefined(resolve(folder, path))
}

/** Files that the configuration names are looked up beside it. */
function loadOptions(file: string, options: Pick<DocumentOptions, 'cwd' | 'env' | 'tier'>, runtime: Runtime) {
  return {
    env: options.env,
    tier: options.tier,
    runtime,
    readReferenced: referencedBy(file, options.cwd),
  }
}

function readOrUndefined(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

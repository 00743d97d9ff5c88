import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { classify } from '../../cluster/resources/classify.ts'
import type { Resource } from '../../cluster/resources/resource.ts'
import { type Finished, finish } from '../../cluster/translate/finish.ts'
import { gather } from '../../cluster/translate/gather.ts'
import { explain, resourcesNamed } from '../../cluster/translate/origin/explain.ts'
import { annotation, sourceMap } from '../../cluster/translate/origin/source-map.ts'
import { printStatuses, printStatusTable } from '../../cluster/translate/status/print-status.ts'
import { translate } from '../../cluster/translate/translate.ts'
import type { DataEntry, Faults } from '../../cluster/translate/work.ts'
import { writeFile } from '../../cluster/translate/write.ts'
import type { Loaded } from '../../config/load.ts'
import { offlineRuntime } from '../../config/offline-runtime.ts'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { Failure } from '../../diagnostics/failure.ts'
import type { CheckReport, Skipped } from '../../diagnostics/render/report.ts'
import { parseSource, type Source } from '../../diagnostics/source.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { refuseLinksOut } from '../../files/write-file.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Conceal } from '../../schema/redact.ts'
import { findInputs, type InputPlace, type InputText, readInputFile } from './input-files.ts'
import { shownTexts } from './shown-texts.ts'

export interface TranslationOptions {
  readonly partial: boolean
  readonly withSecrets: boolean
  readonly allowUnguarded: boolean
  readonly gateway?: string
  /** The directory for certificates and CA bundles, relative to the translated file. */
  readonly filesDir?: string
  /** Set if the result is served. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Replaces secrets in dumps of the result; `<redacted>` when unset. */
  readonly conceal?: Conceal
}

export interface Translation {
  readonly finished: Finished
  /** Those that an API server would accept, and the mistakes in their expressions. */
  readonly resources: readonly Resource[]
  readonly faults: Faults
  /** Mistakes of the resources themselves, and findings about the translated file. */
  readonly diagnostics: readonly Diagnostic[]
  readonly losses: readonly Diagnostic[]
  readonly report: CheckReport
}

/** Reads the files of a translation. Throws a Failure if a given one cannot be read. */
export async function readTexts(paths: readonly string[], place: InputPlace): Promise<InputText[]> {
  const inputs = findInputs(paths, place.cwd)
  if (inputs.failures[0]) throw inputs.failures[0]
  const texts: InputText[] = []
  for (const input of inputs.files) texts.push({ file: input.file, text: (await readInputFile(input, place)).text })
  return texts
}

export interface SourceInput {
  readonly file: string
  readonly source: Source
}

/** Translates texts of resources; other content is skipped and reported. */
export function translateTexts(
  texts: readonly InputText[],
  cwd: string,
  options: TranslationOptions,
  runtime: Runtime = offlineRuntime(),
): Promise<Translation> {
  const inputs = texts.map(({ file, text }) => ({ file, source: parseSource(file, text) }))
  return translateSources(inputs, cwd, options, runtime)
}

/** Throws a Failure `input` if the input has no Gateway of this name. */
export function requireGateway(wanted: string, resources: readonly Resource[]): void {
  const known = resources.flatMap(({ kind, namespace, name }) =>
    kind.kind === 'Gateway' ? [`${namespace}/${name}`] : [],
  )
  if (known.includes(wanted)) return
  const guess = didYouMean(wanted, known) ?? (known.length === 0 ? 'it holds none' : `there is ${known.join(', ')}`)
  throw new Failure('input', `the input holds no Gateway ${wanted}: ${guess}${guess.endsWith('?') ? '' : '.'}`, {
    help: 'Write --gateway NAMESPACE/NAME.',
  })
}

async function translateSources(
  sources: readonly SourceInput[],
  cwd: string,
  options: TranslationOptions,
  runtime: Runtime,
): Promise<Translation> {
  const { inputs, skipped } = resourcesIn(sources)
  const gathered = await gather(inputs, { partial: options.partial })
  if (gathered.documents === 0) {
    throw new Failure('input', 'there is no resource to translate.', {
      help: 'Name files or directories of Kubernetes resources.',
    })
  }
  if (options.gateway !== undefined) requireGateway(options.gateway, gathered.resources)
  const files = new Map<string, Buffer>()
  const { filesDir, gateway, env, conceal, ...rest } = options
  const translated = await translate(gathered.resources, gathered.faults, {
    ...rest,
    filePath: filesDir === undefined ? undefined : entry => fileFor(entry, filesDir, files),
    ...(gateway === undefined ? {} : { gateway }),
  })
  const finished = await finish(translated, {
    runtime,
    file: sources[0]?.file ?? '<stdin>',
    ...(env === undefined ? {} : { env }),
    ...(conceal === undefined ? {} : { conceal }),
    readReferenced: path => (path === '/dev/null' ? Buffer.alloc(0) : files.get(path)),
  })
  const diagnostics = [
    ...sources.flatMap(({ source }) => source.diagnostics),
    ...gathered.diagnostics,
    ...finished.loaded.diagnostics,
  ]
  const texts = new Map(sources.map(({ file, source }) => [file, source.text]))
  const found = [...diagnostics, ...unexplained(finished, diagnostics)]
  const report: CheckReport = {
    diagnostics: found,
    files: sources.length,
    documents: gathered.documents,
    skipped: [
      ...skipped,
      ...gathered.skipped.map(({ file, index, kind, reason }) => ({
        file,
        document: index,
        reason: `${kind}: ${reason}`,
      })),
    ],
    textOf: await shownTexts(texts, found),
    cwd,
  }
  const { resources, faults } = gathered
  return { finished, resources, faults, diagnostics, losses: finished.losses, report }
}

/** Losses that follow from a reported mistake are not reported again. */
function unexplained({ losses, circular }: Finished, diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const errors = Map.groupBy(
    diagnostics.filter(({ severity }) => severity === 'error'),
    ({ resource }) => resource,
  )
  const told = diagnostics.some(({ code }) => code === 'GW210')
  return losses.filter(loss => {
    if (told && circular.has(loss)) return false
    const { resource, path } = loss
    const own = resource === undefined ? [] : (errors.get(resource) ?? [])
    return !own.some(each => isWithin(each.path, path) || isWithin(path, each.path))
  })
}

function isWithin(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`)
}

/** Documents with resources, without standalone files. */
export function resourcesIn(sources: readonly SourceInput[]) {
  const skipped: Skipped[] = []
  const inputs = sources.map(({ file, source }) => {
    const classes = source.documents.map(document => ({ document, found: classify(document) }))
    for (const { document, found } of classes) {
      if (found !== 'standalone') continue
      skipped.push({ file, document: document.index, reason: 'a standalone configuration is not a resource' })
    }
    const documents = classes.flatMap(({ document, found }) =>
      found === 'resource' || found === 'foreign' ? document : [],
    )
    return { file, source: { ...source, documents } }
  })
  return { inputs, skipped }
}

function fileFor(entry: DataEntry, folder: string, files: Map<string, Buffer>): string {
  const path = join(folder, entry.kind.toLowerCase(), entry.namespace, entry.name, entry.key)
  files.set(path, entry.bytes)
  return path
}

export interface ServedPlace extends Pick<TranslationOptions, 'conceal'>, Partial<Pick<TranslationOptions, 'partial'>> {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Loads resources as `run` does: through the same translation, with Secret data in memory only. It starts if `validate`
 * has no findings; for the rest, `translate | run` serves what remains.
 */
export async function loadResources(inputs: readonly InputText[], place: ServedPlace, runtime: Runtime) {
  const { cwd, env, conceal, partial = false } = place
  const hidden = conceal === undefined ? {} : { conceal }
  const options = { env, ...hidden, partial, withSecrets: true, allowUnguarded: false, filesDir: '<memory>' }
  const { finished, report, resources, faults } = await translateTexts(inputs, cwd, options, runtime)
  const { diagnostics } = report
  const runnable =
    finished.loaded.runnable &&
    !diagnostics.some(({ severity, code }) => severity === 'error' || code.startsWith('GW6'))
  const loaded: Loaded = { ...finished.loaded, diagnostics, runnable }
  return { loaded, resources, faults, files: finished.work.files }
}

export type TranslationFormat = 'yaml' | 'json' | 'status' | 'status-table' | 'report'

export function renderTranslation(
  { finished, report }: Translation,
  format: TranslationFormat,
  annotate: boolean,
): string {
  const { value, work, statuses } = finished
  switch (format) {
    case 'yaml':
      return Object.keys(value).length === 0
        ? '{}\n'
        : writeFile(value, { origins: work.origins, ...(annotate ? { annotate: annotation } : {}) })
    case 'json':
      return `${JSON.stringify(value, null, 2).replaceAll('$', '$$$$')}\n`
    case 'status':
      return printStatuses(statuses)
    case 'status-table':
      return printStatusTable(statuses)
    case 'report':
      return report.diagnostics.map(lossLine).join('')
  }
}

function lossLine({ file, range, code, resource, path, message }: Diagnostic): string {
  return `${file}:${range.start.line}: ${code} ${resource ?? ''} ${path}: ${message}\n`
}

/** The origin of every part of the file, as JSON. */
export function renderSourceMap({ finished }: Translation): string {
  return `${JSON.stringify({ version: 1, parts: sourceMap(finished.value, finished.work.origins) }, null, 2)}\n`
}

/** Throws a Failure if there is no resource of that name. */
export function explainResource(name: string, { finished }: Translation): string {
  const found = resourcesNamed(name, finished)
  if (found.length > 0) return found.map(resource => explain(resource, finished)).join('\n')
  throw new Failure('usage', `the input has no resource ${name}.`, { help: 'Write KIND/NAME or KIND/NAMESPACE/NAME.' })
}

/** Writes the certificates and CA bundles that the file references, readable only by their owner. */
export function writeDataFiles({ finished }: Translation, cwd: string): number {
  for (const [path, { bytes }] of finished.work.files) {
    const full = resolve(cwd, path)
    refuseLinksOut(full, path, cwd)
    mkdirSync(dirname(full), { recursive: true, mode: 0o700 })
    writeFileSync(full, bytes, { mode: 0o600 })
  }
  return finished.work.files.size
}

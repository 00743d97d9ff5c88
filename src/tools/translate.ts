import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { offlineRuntime } from '../config/offline-runtime.ts'
import { classify } from '../config/resources/classify.ts'
import { explain, resourcesNamed } from '../config/translate/explain.ts'
import { type Finished, finish } from '../config/translate/finish.ts'
import { gather } from '../config/translate/gather.ts'
import { printStatuses, printStatusTable } from '../config/translate/print-status.ts'
import { annotation, sourceMap } from '../config/translate/source-map.ts'
import { translate } from '../config/translate/translate.ts'
import type { DataEntry } from '../config/translate/work.ts'
import { writeFile } from '../config/translate/write.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { Failure } from '../diagnostics/failure.ts'
import type { CheckReport, Skipped } from '../diagnostics/render/report.ts'
import { parseSource } from '../diagnostics/source.ts'
import type { Runtime } from '../http/runtime.ts'
import { findInputs, type InputPlace, type InputText, readInputFile } from './input-files.ts'

export interface TranslationOptions {
  readonly partial: boolean
  readonly withSecrets: boolean
  readonly allowUnguarded: boolean
  readonly gateway?: string
  /** Where certificates and CA bundles are to be found as files, relative to the translated file. */
  readonly filesDir?: string
}

export interface Translation {
  readonly finished: Finished
  /** Mistakes of the resources themselves, and what is said of the file made of them. */
  readonly diagnostics: readonly Diagnostic[]
  readonly losses: readonly Diagnostic[]
  readonly report: CheckReport
}

/** Reads the files of a translation. Throws a Failure when one that was named cannot be read. */
export async function readTexts(paths: readonly string[], place: InputPlace): Promise<InputText[]> {
  const inputs = findInputs(paths, place.cwd)
  if (inputs.failures[0]) throw inputs.failures[0]
  const texts: InputText[] = []
  for (const input of inputs.files) texts.push({ file: input.file, text: (await readInputFile(input, place)).text })
  return texts
}

/** Translates texts of resources; what else they hold is left out and told. */
export async function translateTexts(
  texts: readonly InputText[],
  cwd: string,
  options: TranslationOptions,
  runtime: Runtime = offlineRuntime(),
): Promise<Translation> {
  const sources = texts.map(({ file, text }) => ({ file, source: parseSource(file, text) }))
  const skipped: Skipped[] = []
  const inputs = sources.map(({ file, source }) => {
    const documents = source.documents.filter(document => ['resource', 'foreign'].includes(classify(document)))
    for (const document of source.documents) {
      if (classify(document) === 'standalone') {
        skipped.push({ file, document: document.index, reason: 'a standalone configuration is no resource' })
      }
    }
    return { file, source: { ...source, documents } }
  })
  const gathered = await gather(inputs, { partial: options.partial })
  if (gathered.documents === 0) {
    throw new Failure('input', 'there is no resource to translate.', {
      help: 'Name files or directories of Kubernetes resources.',
    })
  }
  const files = new Map<string, Buffer>()
  const translated = translate(gathered.resources, gathered.faults, {
    partial: options.partial,
    withSecrets: options.withSecrets,
    allowUnguarded: options.allowUnguarded,
    filePath: options.filesDir === undefined ? undefined : entry => fileFor(entry, options.filesDir!, files),
    ...(options.gateway === undefined ? {} : { gateway: options.gateway }),
  })
  const finished = await finish(translated, {
    runtime,
    file: texts[0]?.file ?? '<stdin>',
    readReferenced: path => (path === '/dev/null' ? Buffer.alloc(0) : files.get(path)),
  })
  const diagnostics = [
    ...sources.flatMap(({ source }) => source.diagnostics),
    ...gathered.diagnostics,
    ...finished.loaded.diagnostics,
  ]
  const byFile = new Map(texts.map(({ file, text }) => [file, text]))
  const report: CheckReport = {
    diagnostics: [...diagnostics, ...finished.losses],
    files: texts.length,
    documents: gathered.documents,
    skipped: [
      ...skipped,
      ...gathered.skipped.map(({ file, index, kind, reason }) => ({
        file,
        document: index,
        reason: `${kind}: ${reason}`,
      })),
    ],
    textOf: file => byFile.get(file),
    cwd,
  }
  return { finished, diagnostics, losses: finished.losses, report }
}

function fileFor(entry: DataEntry, folder: string, files: Map<string, Buffer>): string {
  const path = join(folder, entry.kind.toLowerCase(), entry.namespace, entry.name, entry.key)
  files.set(path, entry.bytes)
  return path
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

/** Throws a Failure when no resource is named so. */
export function explainResource(name: string, { finished }: Translation): string {
  const found = resourcesNamed(name, finished)
  if (found.length > 0) return found.map(resource => explain(resource, finished)).join('\n')
  throw new Failure('usage', `the input has no resource ${name}.`, { help: 'Write KIND/NAME or KIND/NAMESPACE/NAME.' })
}

/** Writes the certificates and CA bundles that the file refers to; only their owner may read them. */
export function writeDataFiles({ finished }: Translation, cwd: string): number {
  for (const [path, { bytes }] of finished.work.files) {
    const full = resolve(cwd, path)
    mkdirSync(dirname(full), { recursive: true, mode: 0o700 })
    writeFileSync(full, bytes, { mode: 0o600 })
  }
  return finished.work.files.size
}

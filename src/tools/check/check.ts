import { resolve } from 'node:path'
import type { Resource } from '../../cluster/resources/resource.ts'
import type { Loaded } from '../../config/load.ts'
import { type Code, severityOf } from '../../diagnostics/codes.ts'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { Failure } from '../../diagnostics/failure.ts'
import type { CheckReport, Fixed, Skipped, Suppressed } from '../../diagnostics/render/report.ts'
import { createLines } from '../../diagnostics/source-text.ts'
import { visible } from '../../diagnostics/visible.ts'
import {
  findInputs,
  type InputFile,
  type InputPlace,
  type Inputs,
  type InputText,
  isTestFile,
  readInputFile,
} from '../input/input-files.ts'
import { shownTexts } from '../input/shown-texts.ts'
import { checkTexts, type DocumentOptions, type Text } from './check-documents.ts'
import type { FixLevel } from './fix.ts'
import { ForeignPlaces } from './foreign-places.ts'
import { looksLikeOurs } from './recognize.ts'
import { partition } from './sets.ts'
import { SettingsFinder } from './settings.ts'
import { applySuppressions } from './suppressions.ts'

export { loadInput, referencedBy } from './check-documents.ts'

export interface CheckOptions extends DocumentOptions, InputPlace {
  readonly stdinName?: string
  /** The files come from a hook: foreign files are skipped, and an empty selection is not a failure. */
  readonly hook?: boolean
  /** Read the nearest `.gwctl.yaml` of each file. */
  readonly settings?: boolean
  readonly select?: readonly Code[]
  readonly ignore?: readonly Code[]
  readonly baseline?: string
  /** Report only findings on lines that changed since this git revision. */
  readonly since?: string
  readonly fix?: FixLevel
}

export interface CheckOutcome {
  readonly report: CheckReport
  /** Named inputs that could not be read. The rest was checked nevertheless. */
  readonly failures: readonly Failure[]
  /** The files as changed by `fix`; nothing is written. For stdin also if nothing changed. */
  readonly rewritten: readonly Rewritten[]
  /** Entries of the baseline that no longer occur. */
  readonly gone: number
}

export interface Rewritten {
  readonly input: InputFile
  /** As read, to preserve its encoding; `before` and `after` lack the byte order mark. */
  readonly bytes: Buffer
  readonly before: string
  readonly after: string
}

interface ReadText extends Text {
  readonly input: InputFile
  readonly bytes: Buffer
}

/** Checks files, directories and stdin; starts and writes nothing. Throws a Failure if there is nothing to check. */
export async function check(paths: readonly string[], options: CheckOptions): Promise<CheckOutcome> {
  const settings = new SettingsFinder(options.cwd)
  const inputs = findInputs(paths, options.cwd, options.stdinName)
  const places = new ForeignPlaces()
  const { texts, failures, skipped, unread } = await readTexts(inputs, options, settings, places)
  const curate = curator(options, settings)
  const pathByFile = new Map(texts.map(({ file, input }) => [file, input.path]))
  const apart = {
    cwd: options.cwd,
    pathOf: (file: string) => pathByFile.get(file),
    setsOf: (path: string) => (options.settings === true ? settings.setsOf(path) : []),
    basesOf: (folder: string) => places.basesOf(folder),
  }
  const documents = { ...documentOptions(options), partition: (all: readonly Resource[]) => partition(all, apart) }
  const worked = await work(texts, documents, options.fix, curate)
  skipped.push(...worked.found.skipped)
  if (worked.found.checked.length === 0 && unread.length === 0 && !options.hook) {
    throw failures[0] ?? nothing(paths, skipped)
  }
  const curated = curate(worked.texts, [...worked.found.diagnostics, ...unread])
  const known = await compare([...curated.kept, ...settings.diagnostics], options)
  const after = new Map(worked.texts.map(({ file, text }) => [file, text]))
  const shown = await shownTexts(after, known.kept)
  const report: CheckReport = {
    diagnostics: known.kept,
    files: worked.found.checked.length + unread.length,
    documents: worked.found.checked.reduce((sum, { documents }) => sum + documents, 0),
    checked: worked.found.checked,
    skipped,
    suppressed: [...curated.suppressed, ...known.suppressed],
    fixed: worked.fixed,
    textOf: file => shown(file) ?? settings.textOf(file),
    cwd: options.cwd,
  }
  const rewritten = texts.flatMap(({ input, bytes, text, file }) => {
    const then = after.get(file)
    const printed = options.fix !== undefined && input.path === undefined
    return then === undefined || (then === text && !printed) ? [] : [{ input, bytes, before: text, after: then }]
  })
  return { report, failures, rewritten, gone: known.gone }
}

/** Reads the files that may contain something to check. */
async function readTexts(inputs: Inputs, options: CheckOptions, settings: SettingsFinder, places: ForeignPlaces) {
  const failures = [...inputs.failures]
  const skipped: Skipped[] = [...inputs.skipped]
  const unread: Diagnostic[] = []
  const texts: ReadText[] = []
  for (const input of inputs.files) {
    if (options.settings) settings.prepare(resolve(options.cwd, input.file))
    const lenient = !input.named || options.hook === true
    const reason = reasonToSkip(input, options, settings, lenient ? places : undefined)
    if (reason !== undefined) {
      skipped.push({ file: input.file, reason })
      continue
    }
    try {
      const { bytes, text } = await readInputFile(input, options)
      const foreignWhenBroken = lenient && !looksLikeOurs(text)
      texts.push({ file: input.file, text, lenient, foreignWhenBroken, input, bytes })
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      if (options.hook) {
        skipped.push({ file: input.file, reason: error.message })
        continue
      }
      unread.push(unreadable(input.file, error))
      if (input.named) failures.push(error)
    }
  }
  return { texts, failures, skipped, unread }
}

/** Why a file is not even read. */
function reasonToSkip(
  input: InputFile,
  options: CheckOptions,
  settings: SettingsFinder,
  places: ForeignPlaces | undefined,
): string | undefined {
  if (isTestFile(input.file)) return 'test cases: `gwctl test` runs them'
  if (isIgnored(input, options, settings)) return 'ignored by the settings'
  return input.path === undefined ? undefined : places?.reasonFor(input.path)
}

/** A file that is named explicitly is never ignored, except in a hook, which names every file of a commit. */
function isIgnored({ path, named }: InputFile, options: CheckOptions, settings: SettingsFinder): boolean {
  return options.settings === true && path !== undefined && (!named || options.hook === true) && settings.ignores(path)
}

/** A finding for a file that cannot be read. */
export function unreadable(file: string, failure: Failure): Diagnostic {
  const help = failure.help === undefined ? {} : { help: failure.help }
  const { range } = createLines('')
  const message = failure.message.replace(/\.$/, '')
  return {
    code: 'GW007',
    severity: severityOf('GW007'),
    message,
    file,
    range: range(0, 0),
    path: '',
    related: [],
    ...help,
  }
}

/** Without the input place: spreading it would open stdin, which takes as long as checking a small file. */
function documentOptions({ cwd, env, tier, partial, mode, progress }: CheckOptions): DocumentOptions {
  return {
    cwd,
    env,
    tier,
    ...(partial !== undefined && { partial }),
    ...(mode !== undefined && { mode }),
    ...(progress && { progress }),
  }
}

async function work(texts: readonly ReadText[], options: DocumentOptions, fix: FixLevel | undefined, curate: Curate) {
  if (fix === undefined) return { texts, found: await checkTexts(texts, options), fixed: [] as Fixed[] }
  const { fixTexts } = await import('./fix.ts')
  return fixTexts(texts, options, fix, (now, diagnostics) => curate(now, diagnostics).kept)
}

interface Curated {
  readonly kept: readonly Diagnostic[]
  readonly suppressed: readonly Suppressed[]
}
type Curate = (texts: readonly Text[], diagnostics: readonly Diagnostic[]) => Curated

/** Filters the findings by the settings, the comments in the files and the flags. */
function curator(options: CheckOptions, settings: SettingsFinder): Curate {
  const { select = [], ignore = [] } = options
  // A commit is partial: notes about names in other files are of no use to its author.
  const elsewhere = ({ code, severity }: Diagnostic): boolean =>
    options.hook === true && options.partial === true && severity === 'info' && /^GW20[14]$/.test(code)
  const chosen = (d: Diagnostic): boolean =>
    (select.length === 0 || select.includes(d.code)) && !ignore.includes(d.code) && !elsewhere(d)
  return (texts, diagnostics) => {
    const ruled =
      options.settings === true ? diagnostics.flatMap(d => applyRules(d, settings, options.cwd)) : diagnostics
    const byFile = Map.groupBy(ruled, d => d.file)
    const textOf = new Map(texts.map(({ file, text }) => [file, text]))
    const files = [...new Set([...byFile.keys(), ...textOf.keys()])]
    const sifted = files.map(file => applySuppressions(file, textOf.get(file) ?? '', byFile.get(file) ?? []))
    return {
      kept: sifted.flatMap(({ kept }) => kept).filter(chosen),
      suppressed: sifted.flatMap(({ suppressed }) => suppressed),
    }
  }
}

function applyRules(d: Diagnostic, settings: SettingsFinder, cwd: string): Diagnostic[] {
  const severity = settings.severityOf(d.code, resolve(cwd, d.file))
  if (severity === 'off') return []
  return [severity === undefined ? d : { ...d, severity }]
}

async function compare(diagnostics: readonly Diagnostic[], options: CheckOptions) {
  const { baseline, since, cwd } = options
  const known =
    baseline === undefined
      ? { kept: diagnostics, suppressed: [], gone: 0 }
      : (await import('./baseline.ts')).applyBaseline(baseline, diagnostics, cwd)
  if (since === undefined) return known
  const { changedSince } = await import('./since.ts')
  return { ...known, kept: await changedSince(since, known.kept, cwd) }
}

const SHOWN = 10

function nothing(paths: readonly string[], skipped: readonly Skipped[]): Failure {
  const left = skipped.slice(0, SHOWN).map(({ file, document, reason }) => {
    return `  ${visible(file)}${document === undefined ? '' : ` (document ${document})`}: ${reason}`
  })
  const more = skipped.length > SHOWN ? [`  and ${skipped.length - SHOWN} more`] : []
  const help = ['Name a standalone configuration or a directory of resources.']
  if (skipped.length > 0) help.unshift('Skipped:', ...left, ...more)
  else help.unshift('It contains no file named *.yaml, *.yml, *.json or *.jsonc.')
  return new Failure('input', `there is nothing to check in ${visible(paths.join(' '))}.`, { help: help.join('\n') })
}

/** A report of the findings of loading a configuration. */
export async function reportOf(
  inputs: readonly InputText[],
  { diagnostics, source }: Pick<Loaded, 'diagnostics' | 'source'>,
  cwd: string,
): Promise<CheckReport> {
  return {
    diagnostics,
    files: inputs.length,
    documents: source.documents.filter(d => !d.empty).length,
    skipped: [],
    textOf: await shownTexts(new Map(inputs.map(({ file, text }) => [file, text])), diagnostics),
    cwd,
  }
}

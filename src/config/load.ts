import { CredentialPlaces } from '../auth/credential-places.ts'
import type { Diagnostic, Finding, Path } from '../diagnostics/diagnostic.ts'
import { withoutEchoes } from '../diagnostics/echoes.ts'
import { parseSource, type Source, type SourceDocument } from '../diagnostics/source.ts'
import { pathNormalizer } from '../http/path-normalization.ts'
import { HTTP_DEFAULTS, pathRules } from '../policies/frontend/http.ts'
import type { Limits } from '../policies/policy.ts'
import type { Pause } from '../runtime/pause.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { celFinding, decode, INVALID } from '../schema/decode.ts'
import { decodeItems, redactItems } from '../schema/in-parts.ts'
import { type Conceal, redact } from '../schema/redact.ts'
import { compile } from './compile.ts'
import { type Compilation, type ReadReferenced, type Tier, valueAt } from './compile-context.ts'
import { type CelSettings, Engines } from './engines.ts'
import { lint } from './lints/index.ts'
import { resolveSettings } from './settings.ts'
import type { Snapshot } from './snapshot.ts'
import { type Standalone, standalone } from './standalone/standalone.ts'

export interface LoadOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /**
   * `env`: variables are set and referenced files exist, as `run` needs. `offline`: their absence is not a mistake.
   * `syntax`: fields and expressions only, without a snapshot.
   */
  readonly tier: Tier
  readonly runtime: Runtime
  readonly readReferenced: ReadReferenced
  /** Set when the same thread serves requests. */
  readonly pause?: Pause
  /** The text, if it has been parsed before. */
  readonly parsed?: Source
  /** When false, no suggestions for improvement are reported. */
  readonly advice?: boolean
  /** When false, the snapshot's specs are not redacted: no caller displays them. */
  readonly shown?: boolean
  /** Replaces secrets in the snapshot's specs; `<redacted>` when unset. */
  readonly conceal?: Conceal
  /** Shared by files that are checked together; created for this file when unset. */
  readonly engines?: Engines
}

export interface Loaded {
  readonly source: Source
  readonly diagnostics: readonly Diagnostic[]
  /** What could be compiled; absent when the text itself is unreadable. */
  readonly snapshot: Snapshot | undefined
  /** No errors and nothing that the engine does not serve: `run` may start it. */
  readonly runnable: boolean
}

/** The one path from text to snapshot: `validate`, `run`, `dump` and every test of the engine go through it. */
export async function load(file: string, text: string, options: LoadOptions): Promise<Loaded> {
  const source = options.parsed ?? readStandalone(file, text, options)
  const loaded = await loadSource(source, options)
  return { ...loaded, diagnostics: withoutEchoes([...source.diagnostics, ...loaded.diagnostics]) }
}

/** The text of a standalone file: unlike in resources, `$NAME` in it is a variable. */
export function readStandalone(file: string, text: string, options: Pick<LoadOptions, 'env' | 'tier'>): Source {
  return parseSource(file, text, { env: options.env, unset: options.tier === 'env' ? 'error' : 'placeholder' })
}

/**
 * Compiles the documents of a source that hold a standalone configuration. Does not repeat the source's own
 * diagnostics.
 */
export async function loadSource(
  source: Source,
  options: LoadOptions,
  documents: readonly SourceDocument[] = source.documents,
): Promise<Loaded> {
  const diagnostics: Diagnostic[] = []
  const written = documents.filter(document => !document.empty)
  for (const extra of written.slice(1)) {
    diagnostics.push(
      extra.resolve({
        code: 'GW008',
        message: `the standalone configuration is one document, and this is number ${extra.index}`,
        path: [],
        at: 'value',
        label: 'starts here',
        help: 'move what is in it into the first document, or into a file of its own',
      }),
    )
  }
  const document = written[0] ?? documents[0]
  const snapshot =
    document === undefined || document.broken
      ? undefined
      : await compileDocument(document, source, options, diagnostics)
  const all = [...source.diagnostics, ...diagnostics]
  const runnable = snapshot !== undefined && all.every(d => d.severity !== 'error' && !d.code.startsWith('GW6'))
  return { source, diagnostics, snapshot, runnable }
}

async function compileDocument(
  document: SourceDocument,
  source: Source,
  options: LoadOptions,
  diagnostics: Diagnostic[],
): Promise<Snapshot | undefined> {
  const report = reportOnce(finding => diagnostics.push(document.resolve(finding)))
  const paths = new WeakMap<object, Path>()
  const value = document.empty ? {} : document.value
  const engines = options.engines ?? new Engines({ chance: options.runtime })
  const config = await decodeDocument(value, paths, report, engines, options.pause)
  if (options.tier === 'syntax') return undefined
  await options.pause?.()
  const c: Compilation = {
    document,
    paths,
    runtime: options.runtime,
    tier: options.tier,
    readReferenced: options.readReferenced,
    env: options.env,
    limits: limitsOf(config?.frontendPolicies?.http),
    credentials: new CredentialPlaces(),
    equals: new Map(),
    serving: [],
    pause: options.pause,
    redacted: await shownOf(document, source, options),
    report,
  }
  const settings = resolveSettings(config?.config, options.env, problem =>
    report({ code: 'GW106', message: problem.message, path: [], at: 'value' }),
  )
  if (config === undefined) return undefined
  await options.pause?.()
  const snapshot = await compile(config, source.file, settings, c)
  for (const load of c.serving) await load()
  const sound = diagnostics.every(d => d.severity !== 'error')
  if (options.advice !== false && sound && source.diagnostics.every(d => d.severity !== 'error')) {
    const textAt = (path: Path) => {
      if (document.textAt) return document.textAt(path)
      if (valueAt(value, path) === undefined) return ''
      const { start, end } = document.resolve({ code: 'GW101', message: '', path, at: 'value' }).range
      return source.text.slice(start.offset, end.offset)
    }
    const pathOf = (part: object) => paths.get(part) ?? []
    const termOf = (text: string) => engines.termOf(text)
    lint({ config, snapshot, document, tier: options.tier, env: options.env, pathOf, textAt, termOf, report })
  }
  return snapshot
}

/** The value of a document, redacted. */
async function shownOf(document: SourceDocument, source: Source, options: LoadOptions): Promise<unknown> {
  const value = document.empty ? {} : document.value
  const { shown, conceal, pause } = options
  if (shown === false) return value
  // What is read in parts is a translation, which has no variables.
  if (pause) return redactItems(standalone, value, conceal, pause)
  return redact(standalone, value, conceal, asWritten(document, source))
}

/** With the names of variables instead of their values. Undefined when not requested. */
function asWritten({ index, value }: SourceDocument, { file, text }: Source): unknown {
  return /\bargs\b/.test(text) && text.includes('$') ? parseSource(file, text).documents[index - 1]?.value : value
}

/** A part that is compiled at several places, such as a named backend, reports its findings once. */
function reportOnce(report: Compilation['report']): Compilation['report'] {
  const known = new Set<string>()
  return finding => {
    const { code, message, path, at } = finding
    const key = JSON.stringify([code, message, path, at])
    if (!known.has(key)) report(finding)
    known.add(key)
  }
}

function limitsOf(http: NonNullable<Standalone['frontendPolicies']>['http'] | undefined): Limits {
  return {
    maxBuffer: http?.maxBufferSize ?? HTTP_DEFAULTS.maxBuffer,
    paths: pathNormalizer(pathRules(http?.pathNormalization)),
  }
}

/**
 * The expression and pattern engines take as long to load as everything else together, so the first pass runs without
 * them and reports whether it would have needed them.
 */
async function decodeDocument(
  value: unknown,
  paths: WeakMap<object, Path>,
  report: Compilation['report'],
  engines: Engines,
  pause: Pause | undefined,
): Promise<Standalone | undefined> {
  const settings = celSettingsOf(value)
  for (;;) {
    const findings: Parameters<typeof report>[0][] = []
    const missing = new Set<'cel' | 'patterns'>()
    const context = {
      report: (finding: Finding) => findings.push(finding),
      paths,
      cel: engines.cel(settings),
      patterns: engines.patterns,
      missing,
    }
    const known = pause && (await decodeItems(standalone, value, context, pause))
    const decoded = decode(standalone, value, [], { ...context, ...(known ? { known } : {}) })
    // Functions are checked even if nothing calls them.
    if (settings.functions !== '' && !engines.cel(settings)) missing.add('cel')
    if (missing.size === 0) {
      for (const problem of engines.cel(settings)?.functionProblems ?? []) {
        report(celFinding(problem, ['config', 'customFunctions']))
      }
      for (const finding of findings) report(finding)
      return decoded === INVALID ? undefined : decoded
    }
    await engines.make(missing, settings)
  }
}

/** The expression compiler must know them before the section that holds them is decoded. */
function celSettingsOf(value: unknown): CelSettings {
  const written = valueAt(value, ['config', 'sensitiveHeaders'])
  const functions = valueAt(value, ['config', 'customFunctions'])
  return {
    sensitiveHeaders: Array.isArray(written) ? written.filter(name => typeof name === 'string') : [],
    functions: typeof functions === 'string' ? functions : '',
  }
}

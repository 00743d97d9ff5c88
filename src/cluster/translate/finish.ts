import type { ReadReferenced } from '../../config/compile-context.ts'
import { Engines } from '../../config/engines.ts'
import { type Loaded, loadSource } from '../../config/load.ts'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Pause } from '../../runtime/pause.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Conceal } from '../../schema/redact.ts'
import { locate, sourceOf, TranslatedDocument } from './origin/translated-document.ts'
import { isFatal, prune } from './prune.ts'
import type { Translated } from './translate.ts'
import type { Loss } from './work.ts'

export interface Finished extends Translated {
  readonly document: TranslatedDocument
  /** The file as `run` would load it. */
  readonly loaded: Loaded
  /** Lints of the file, located in the resources. */
  readonly advice: readonly Diagnostic[]
  /** What the file lacks of the resources, each reported once. */
  readonly losses: readonly Diagnostic[]
  /** Losses that only the compiler found: each resource is valid by itself. */
  readonly refused: ReadonlySet<Diagnostic>
  /** Losses of routes that delegate in a cycle. */
  readonly circular: ReadonlySet<Diagnostic>
}

export interface FinishOptions {
  readonly runtime: Runtime
  readonly readReferenced: ReadReferenced
  /** Environment for process settings. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Created for this file when unset. */
  readonly engines?: Engines
  /** When false, only the findings are needed. */
  readonly shown?: boolean
  /** Replaces secrets in it; `<redacted>` when unset. */
  readonly conceal?: Conceal
  /** Whether to lint the file. */
  readonly advice?: boolean
  /** Set when the same thread serves requests. */
  readonly pause?: Pause
  /** The file name in findings without a resource. */
  readonly file: string
}

/** Each round removes at least one part. */
const ROUNDS = 24

/** Removes what is wrong or not served from a translation until the rest loads. */
export async function finish(translated: Translated, options: FinishOptions): Promise<Finished> {
  const { work, value } = translated
  const isAdvice = ({ code }: Diagnostic) => code.startsWith('GW5')
  const engines = options.engines ?? new Engines({ chance: options.runtime })
  let advice: readonly Diagnostic[] | undefined
  for (let round = 0; ; round++) {
    const document = new TranslatedDocument(value, work.origins, options.file, options.advice)
    const loaded = await loadSource(sourceOf(document, options.file), {
      env: options.env ?? {},
      tier: 'env',
      runtime: options.runtime,
      readReferenced: options.readReferenced,
      engines,
      shown: options.shown ?? true,
      ...(options.pause === undefined ? {} : { pause: options.pause }),
      ...(options.conceal === undefined ? {} : { conceal: options.conceal }),
      // Linted before unserved parts are removed; a file with errors is not linted.
      advice: options.advice === true && advice === undefined,
    })
    if (loaded.diagnostics.every(({ severity }) => severity !== 'error')) advice ??= loaded.diagnostics.filter(isAdvice)
    const more = document.findings.some(isFatal) && round < ROUNDS && prune(value, document.findings, work)
    if (more) continue
    const rest = { ...loaded, diagnostics: loaded.diagnostics.filter(d => !isAdvice(d)) }
    return { ...translated, document, loaded: rest, advice: advice ?? [], ...lossesOf(work.losses) }
  }
}

function lossesOf(losses: readonly Loss[]): Pick<Finished, 'losses' | 'refused' | 'circular'> {
  const refusals = new Set<Diagnostic>()
  const circular = new Set<Diagnostic>()
  const seen = new Map<string, Diagnostic>()
  for (const { from, message, note, unserved, refused, hidden, circular: isCircular } of losses) {
    const diagnostic = locate(from, {
      code: unserved ? 'GW601' : hidden ? 'GW523' : 'GW602',
      message,
      ...(note === undefined ? {} : { note }),
    })
    const key = `${diagnostic.resource}\0${diagnostic.path}\0${message}`
    if (seen.has(key)) continue
    seen.set(key, diagnostic)
    if (refused) refusals.add(diagnostic)
    if (isCircular) circular.add(diagnostic)
  }
  const sorted = [...seen.values()].sort((a, b) => {
    const [x, y] = [`${a.resource}\0${a.path}\0${a.message}`, `${b.resource}\0${b.path}\0${b.message}`]
    return x < y ? -1 : x > y ? 1 : 0
  })
  return { losses: sorted, refused: refusals, circular }
}

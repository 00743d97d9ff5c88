import type { ReadReferenced } from '../../config/compile-context.ts'
import { Engines } from '../../config/engines.ts'
import { type Loaded, loadSource } from '../../config/load.ts'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
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
  /** Lints of the file, at the lines of the resources. */
  readonly advice: readonly Diagnostic[]
  /** What the resources say and the file does not, each once. */
  readonly losses: readonly Diagnostic[]
  /** Those of them that the compiler has refused: each resource by itself is right. */
  readonly refused: ReadonlySet<Diagnostic>
  /** Those that tell of routes that lead back to themselves. */
  readonly circular: ReadonlySet<Diagnostic>
}

export interface FinishOptions {
  readonly runtime: Runtime
  readonly readReferenced: ReadReferenced
  /** What settings of the process may be named in. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Made for this file when unset. */
  readonly engines?: Engines
  /** False: only findings are asked for. */
  readonly shown?: boolean
  /** What stands for secrets in it; `<redacted>` when unset. */
  readonly conceal?: Conceal
  /** Whether the file is linted. */
  readonly advice?: boolean
  /** How findings name the file when no resource made a part. */
  readonly file: string
}

/** Each round takes out at least one part. */
const ROUNDS = 24

/** Takes out of a translation what is wrong or not served, until the rest loads. */
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
      ...(options.conceal === undefined ? {} : { conceal: options.conceal }),
      // Before what is not served is taken out; a file with errors gets none.
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

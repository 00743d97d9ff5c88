import type { Resource } from '../../cluster/resources/resource.ts'
import type { Standing, Surroundings } from '../../cluster/translate/incremental/recompile.ts'
import type { Loaded } from '../../config/load.ts'
import { parseSource, type SourceDocument } from '../../diagnostics/source.ts'
import { documentsIn } from '../../diagnostics/source-text.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { holdsResources, loadInput, type RunOptions } from '../check/check-documents.ts'
import type { InputText } from './input-files.ts'

/** Caches what a compilation requests, across compilations. */
interface Keeper {
  /** `partial`: unused entries are kept. */
  begin(partial: boolean): void
  abandon(): void
}

interface Held {
  readonly standing: Standing
  readonly resources: readonly Resource[]
  readonly texts: readonly InputText[]
  readonly loaded: Loaded
}

/**
 * Reloads a configuration repeatedly, as `run` does. For resources, it keeps their decoded form: if a single route has
 * changed, only that one is read, translated and compiled.
 */
export class InputLoader {
  readonly #keeper: Keeper
  #held: Held | undefined
  /** Whether the last load was limited to one route. */
  quick = false

  constructor(keeper: Keeper) {
    this.#keeper = keeper
  }

  async load(texts: readonly InputText[], options: RunOptions, runtime: Runtime): Promise<Loaded> {
    this.quick = false
    const changed = this.#held && (await this.#one(texts, this.#held, { runtime, env: options.env }))
    if (changed) {
      this.quick = true
      this.#held = changed
      return changed.loaded
    }
    this.#held = undefined
    this.#keeper.begin(false)
    // Who starts a gateway is told what is wrong, not what could be better.
    if (!texts.some(holdsResources)) return loadInput(texts[0]!, { ...options, advice: false }, runtime)
    const { loadResources } = await import('./translate-resources.ts')
    const { loaded, resources, faults } = await loadResources(texts, options, runtime)
    const { snapshot, runnable } = loaded
    if (!runnable || !snapshot) return loaded
    const { standingOf } = await import('../../cluster/translate/incremental/recompile.ts')
    this.#held = { texts, resources, standing: standingOf(resources, faults, snapshot), loaded }
    return loaded
  }

  async #one(texts: readonly InputText[], held: Held, world: Surroundings): Promise<Held | undefined> {
    const change = await changedResource(texts, held)
    if (!change) return undefined
    const { before, after } = change
    const { recompile } = await import('../../cluster/translate/incremental/recompile.ts')
    this.#keeper.begin(true)
    const { standing } = held
    const made = await recompile([change], standing, world)
    if (!made) {
      this.#keeper.abandon()
      return undefined
    }
    const { snapshot } = made
    const resources = held.resources.map(each => (each === before ? after : each))
    return { texts, resources, standing: { ...standing, snapshot }, loaded: { ...held.loaded, snapshot } }
  }
}

/** The only resource that differs between the texts and those in cache. Undefined if there is more to it. */
async function changedResource(texts: readonly InputText[], held: Held) {
  if (texts.length !== held.texts.length || texts.some(({ file }, i) => file !== held.texts[i]?.file)) return undefined
  const differ = texts.flatMap((now, i) => (now.text === held.texts[i]!.text ? [] : [[held.texts[i]!, now] as const]))
  const [first] = differ
  if (differ.length !== 1 || !first) return undefined
  const { file } = first[1]
  const parts = changedPart(first[0].text, first[1].text)
  const old = parts && (await onlyResource(file, parts.old, 0))
  if (!old) return undefined
  const same = held.resources.filter(
    ({ kind, namespace, name }) => kind === old.kind && namespace === old.namespace && name === old.name,
  )
  const [before] = same
  if (same.length !== 1 || !before || before.file !== file || held.standing.faults.has(before)) return undefined
  const after = await onlyResource(file, parts.now, lineOf(before) - lineOf(old))
  return after && { before, after }
}

function lineOf({ document, path }: Resource): number {
  return document.origin([...path, 'kind']).line
}

/** The only document that differs, if all later ones stay on their lines. */
function changedPart(old: string, now: string) {
  const [before, after] = [documentsIn(old), documentsIn(now)]
  if (before.length !== after.length) return undefined
  const at = after.findIndex((text, i) => text !== before[i])
  const [was, is] = [before[at]!, after[at]!]
  if (after.some((text, i) => i > at && text !== before[i])) return undefined
  if (at < after.length - 1 && linesIn(was) !== linesIn(is)) return undefined
  return { old: was, now: is }
}

function linesIn(text: string): number {
  return text.split('\n').length - 1
}

/** Decoded as if it were that many lines further down. Undefined unless there is exactly one, without findings. */
async function onlyResource(file: string, text: string, lines: number): Promise<Resource | undefined> {
  const source = parseSource(file, text)
  const documents = source.documents.map(document => movedDown(document, lines))
  const { gather } = await import('../../cluster/translate/gather.ts')
  const found = await gather([{ file, source: { ...source, documents } }], { partial: true })
  const [only] = found.resources
  const told = found.diagnostics.some(({ severity }) => severity === 'error') || source.diagnostics.length > 0
  return found.resources.length === 1 && found.skipped.length === 0 && !told ? only : undefined
}

/** Any finding causes a full reload, so only its position in the file matters. */
function movedDown(document: SourceDocument, lines: number): SourceDocument {
  return {
    ...document,
    origin: path => {
      const origin = document.origin(path)
      return { ...origin, line: origin.line + lines }
    },
  }
}

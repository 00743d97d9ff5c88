import { statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { parseSource } from '../../diagnostics/source.ts'
import { readIfRegular } from '../../files/read-file.ts'

/** A `kustomization.yaml`, with absolute paths. */
interface Kustomization {
  /** Files and folders that it includes. */
  readonly resources: readonly string[]
  /** Partial resources: no API server ever gets them as they are. */
  readonly patches: ReadonlySet<string>
}

const NAMES = ['kustomization.yaml', 'kustomization.yml', 'Kustomization']
/** bytes. */
const MAX_KUSTOMIZATION = 1024 * 1024
/** How many levels above a patch its kustomization may be. */
const MAX_LEVELS = 4

/** Classifies files by location, from charts and kustomizations. Each folder is examined once. */
export class ForeignPlaces {
  readonly #kustomizations = new Map<string, Kustomization | undefined>()
  readonly #charts = new Map<string, boolean>()

  /** Why a file is not a configuration by itself, whatever its content. Undefined if nothing indicates that. */
  reasonFor(path: string): string | undefined {
    if (this.#isChartTemplate(path)) return 'a template of a Helm chart: render it with `helm template`'
    if (this.#isChartValues(path)) return 'values of a Helm chart'
    if (this.#isPatch(path)) return 'a kustomize patch: check what `kustomize build` prints'
    return undefined
  }

  /** Folders that the kustomization of a folder includes. */
  basesOf(folder: string): readonly string[] {
    return this.#kustomization(folder)?.resources ?? []
  }

  #isChartTemplate(path: string): boolean {
    for (let at = dirname(path); dirname(at) !== at; at = dirname(at)) {
      if (basename(at) === 'templates' && this.#isChart(dirname(at))) return true
    }
    return false
  }

  #isChartValues(path: string): boolean {
    if (/^values\b.*\.ya?ml$/.test(basename(path)) && this.#isChart(dirname(path))) return true
    return basename(dirname(path)) === 'ci' && this.#isChart(dirname(dirname(path)))
  }

  #isChart(folder: string): boolean {
    const known = this.#charts.get(folder) ?? isFile(join(folder, 'Chart.yaml'))
    this.#charts.set(folder, known)
    return known
  }

  #isPatch(path: string): boolean {
    let folder = dirname(path)
    for (let level = 0; level < MAX_LEVELS && dirname(folder) !== folder; level++) {
      if (this.#kustomization(folder)?.patches.has(path)) return true
      folder = dirname(folder)
    }
    return false
  }

  #kustomization(folder: string): Kustomization | undefined {
    if (!this.#kustomizations.has(folder)) this.#kustomizations.set(folder, readKustomization(folder))
    return this.#kustomizations.get(folder)
  }
}

function readKustomization(folder: string): Kustomization | undefined {
  const name = NAMES.find(each => isFile(join(folder, each)))
  if (name === undefined) return undefined
  const text = readIfRegular(join(folder, name), MAX_KUSTOMIZATION)?.toString('utf8') ?? ''
  const value = parseSource(name, text).documents[0]?.value
  if (typeof value !== 'object' || value === null) return undefined
  const fields = value as Readonly<Record<string, unknown>>
  const paths = (...keys: readonly string[]) => keys.flatMap(key => pathsIn(fields[key]).map(at => resolve(folder, at)))
  return {
    resources: paths('resources', 'bases', 'components'),
    patches: new Set(paths('patches', 'patchesStrategicMerge', 'patchesJson6902', 'transformers', 'replacements')),
  }
}

/** `- path` and `- {path: …}`; a patch may also be inline. */
function pathsIn(list: unknown): string[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((item: unknown) => {
    const path = typeof item === 'object' && item !== null ? (item as { path?: unknown }).path : item
    return typeof path === 'string' && !path.includes('\n') ? [path] : []
  })
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

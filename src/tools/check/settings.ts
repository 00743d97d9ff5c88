import { existsSync, lstatSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { CODES, type Code } from '../../diagnostics/codes.ts'
import type { Diagnostic, Finding, Severity } from '../../diagnostics/diagnostic.ts'
import { parseSource, readText } from '../../diagnostics/source.ts'
import { didYouMean } from '../../diagnostics/suggest.ts'
import { leadsOut, placeOf } from '../../files/place.ts'
import { readIfRegular } from '../../files/read-file.ts'
import { type Infer, list, map, object, oneOf, opt, type Problem, req, shapes, string } from '../../schema/builder.ts'
import { decode, INVALID } from '../../schema/decode.ts'
import { type Glob, parseGlob } from '../input/globs.ts'

export const SETTINGS_FILE = '.gwctl.yaml'

/** bytes. */
const MAX_SETTINGS = 1024 * 1024

/** Findings about unreadable input: anything after them is unknown, so they cannot be suppressed. */
export const NOT_NEGOTIABLE: ReadonlySet<Code> = new Set(['GW001', 'GW003', 'GW004', 'GW007'])

export function isCode(text: string): text is Code {
  return Object.hasOwn(CODES, text)
}

const rules = map(oneOf(['off', 'info', 'warning', 'error']), {
  isolate: true,
  keys: (key): Problem | undefined => {
    const help = didYouMean(key, Object.keys(CODES))
    if (!isCode(key)) return { message: `\`${key}\` is not a code of gwctl`, ...(help !== undefined && { help }) }
    if (NOT_NEGOTIABLE.has(key)) return { message: `${key} cannot be changed: without it nothing could be checked` }
    return undefined
  },
})
const globs = list(string({ min: 1 }), { isolate: true })

/** `.gwctl.yaml`, as `validate` reads it. */
export const settings = object(
  'gwctl settings',
  {
    extends: opt(
      shapes({ string: string({ min: 1 }), list: list(string({ min: 1 })) }),
      'Other settings to start from: paths relative to this file.',
    ),
    rules: opt(rules, 'What becomes of a finding, by its code.'),
    ignore: opt(globs, 'Files that are left out, as globs relative to this file; a file named by itself is checked.'),
    sets: opt(
      list(
        object('set', {
          name: req(string({ min: 1 }), 'Said in findings.'),
          files: req(globs, 'Its files, as globs relative to this file; a file may belong to several sets.'),
        }),
        { isolate: true },
      ),
      'Resources that are applied together: names are looked up in their own set only. Folders that define the same resource are sets of their own without this.',
    ),
    overrides: opt(
      list(
        object('override', {
          files: req(globs, 'The files it holds for, as globs relative to this file.'),
          rules: req(rules, 'Rules for these files.'),
        }),
        { isolate: true },
      ),
      'Rules for some files only; later ones win.',
    ),
  },
  { isolate: true },
)

type Rules = Readonly<Record<string, 'off' | Severity>>

/** One settings file, preceded by its `extends`. */
interface Layer {
  readonly folder: string
  readonly rules: Rules
  readonly ignore: readonly Glob[]
  readonly sets: readonly { readonly name: string; readonly files: readonly Glob[] }[]
  readonly overrides: readonly { readonly files: readonly Glob[]; readonly rules: Rules }[]
}

interface Resolved {
  readonly layers: readonly Layer[]
}

/** The settings of each file: those of the nearest folder above it. Read once per folder. */
export class SettingsFinder {
  readonly #byFolder = new Map<string, Resolved | undefined>()
  readonly #diagnostics: Diagnostic[] = []
  readonly #texts = new Map<string, string>()
  readonly #cwd: string

  constructor(cwd: string) {
    this.#cwd = cwd
  }

  /** Mistakes in the settings files read so far. */
  get diagnostics(): readonly Diagnostic[] {
    return this.#diagnostics
  }

  /** The texts of the settings files, for source frames. */
  textOf(file: string): string | undefined {
    return this.#texts.get(file)
  }

  /** Reads the settings of a file, so that their mistakes are reported even if nothing else needs them. */
  prepare(path: string): void {
    this.#for(dirname(path))
  }

  /** `path` is absolute. */
  ignores(path: string): boolean {
    const { layers } = this.#for(dirname(path)) ?? { layers: [] }
    return layers.some(layer => layer.ignore.some(glob => glob(below(layer.folder, path))))
  }

  /** The sets that a file belongs to; `path` is absolute. */
  setsOf(path: string): { readonly key: string; readonly name: string }[] {
    const { layers } = this.#for(dirname(path)) ?? { layers: [] }
    return layers.flatMap(({ folder, sets }) =>
      sets
        .filter(({ files }) => files.some(glob => glob(below(folder, path))))
        .map(({ name }) => ({ key: `${folder}\n${name}`, name })),
    )
  }

  /** The severity that the settings give a finding. Undefined if they do not mention it. */
  severityOf(code: Code, path: string): 'off' | Severity | undefined {
    let severity: 'off' | Severity | undefined
    for (const layer of this.#for(dirname(path))?.layers ?? []) {
      severity = layer.rules[code] ?? severity
      for (const { files, rules: overriding } of layer.overrides) {
        if (overriding[code] !== undefined && files.some(glob => glob(below(layer.folder, path))))
          severity = overriding[code]
      }
    }
    return severity
  }

  #for(folder: string): Resolved | undefined {
    if (this.#byFolder.has(folder)) return this.#byFolder.get(folder)
    const file = join(folder, SETTINGS_FILE)
    const bytes = this.#bytesOf(file)
    const parent = dirname(folder)
    // Settings above a repository do not apply to it.
    const top = parent === folder || existsSync(join(folder, '.git'))
    if (bytes === undefined) this.#refuse(file)
    const found = bytes !== undefined ? { layers: this.#read(file, bytes, []) } : top ? undefined : this.#for(parent)
    this.#byFolder.set(folder, found)
    return found
  }

  /** Unread rules must not go unnoticed. */
  #refuse(file: string): void {
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return
    const message =
      'these settings cannot be read: the file is not a regular one, is too large, or links outside the repository'
    const [document] = parseSource(file, '').documents
    this.#texts.set(file, '')
    if (document) this.#diagnostics.push(document.resolve({ code: 'GW207', message, path: [], at: 'value' }))
  }

  #bytesOf(file: string): Buffer | undefined {
    return leadsOut(file, placeOf(file, this.#cwd)) ? undefined : readIfRegular(file, MAX_SETTINGS)
  }

  #read(file: string, bytes: Buffer, trail: readonly string[]): Layer[] {
    const read = readText(bytes)
    const text = 'text' in read ? read.text : ''
    this.#texts.set(file, text)
    const source = parseSource(file, text)
    // Only gwctl reads this file, so `off` is never taken for a boolean.
    this.#diagnostics.push(...source.diagnostics.filter(d => d.code !== 'GW005' && d.code !== 'GW006'))
    const [document] = source.documents
    if (document === undefined || document.broken || document.empty) return []
    const report = (finding: Finding): unknown => this.#diagnostics.push(document.resolve(finding))
    const missing = new Set<'cel' | 'patterns'>()
    const context = { report, paths: new WeakMap(), cel: undefined, patterns: undefined, missing }
    const decoded = decode(settings, document.value, [], context)
    if (decoded === INVALID) return []
    return [...this.#extended(decoded, file, [...trail, file], report), layerOf(decoded, dirname(file))]
  }

  #extended(
    { extends: names }: Infer<typeof settings>,
    file: string,
    trail: readonly string[],
    report: (finding: Finding) => void,
  ): Layer[] {
    const all = typeof names === 'string' ? [names] : (names ?? [])
    return all.flatMap((name, i) => {
      const target = resolve(dirname(file), name)
      const at = { path: typeof names === 'string' ? ['extends'] : ['extends', i], at: 'value' as const }
      if (trail.includes(target)) {
        report({ code: 'GW210', message: `\`${name}\` leads back to these settings`, ...at })
        return []
      }
      // Extended files are restricted to the place of the first one.
      const place = placeOf(trail[0]!, this.#cwd)
      if (leadsOut(target, place)) {
        const message = `the settings \`${name}\` are not read: they are outside of ${place.shown}`
        report({ code: 'GW207', message, label: 'leads out of it', ...at })
        return []
      }
      const bytes = this.#bytesOf(target)
      if (bytes !== undefined) return this.#read(target, bytes, trail)
      report({
        code: 'GW207',
        message: `the settings \`${name}\` cannot be read`,
        label: 'no regular file here that can be read',
        ...at,
      })
      return []
    })
  }
}

function layerOf(decoded: Infer<typeof settings>, folder: string): Layer {
  return {
    folder,
    rules: decoded.rules ?? {},
    ignore: (decoded.ignore ?? []).map(parseGlob),
    sets: (decoded.sets ?? []).map(({ name, files }) => ({ name, files: files.map(parseGlob) })),
    overrides: (decoded.overrides ?? []).map(each => ({ files: each.files.map(parseGlob), rules: each.rules })),
  }
}

function below(folder: string, path: string): string {
  return relative(folder, path).split(sep).join('/')
}

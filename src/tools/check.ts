import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Tier } from '../config/compile-context.ts'
import { type Loaded, load } from '../config/load.ts'
import { offlineRuntime } from '../config/offline-runtime.ts'
import type { CheckReport } from '../diagnostics/render/report.ts'
import type { Runtime } from '../http/runtime.ts'
import { type InputText, readInput } from './input-files.ts'

export interface CheckOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: () => NodeJS.ReadableStream
  readonly stdinName?: string
  readonly tier: Tier
}

/** Checks every file on its own, as `run` would start it, and starts nothing. Throws a Failure for unreadable input. */
export async function check(paths: readonly string[], options: CheckOptions): Promise<CheckReport> {
  const checked: Checked[] = []
  for (const path of paths) {
    const input = await readInput(path, options.cwd, options.stdin, options.stdinName)
    checked.push({ input, loaded: await loadInput(input, options, offlineRuntime()) })
  }
  return reportOf(checked, options.cwd)
}

export interface Checked {
  readonly input: InputText
  readonly loaded: Loaded
}

export function reportOf(checked: readonly Checked[], cwd: string): CheckReport {
  const texts = new Map(checked.map(({ input }) => [input.file, input.text]))
  return {
    diagnostics: checked.flatMap(({ loaded }) => loaded.diagnostics),
    files: checked.length,
    documents: checked.reduce((sum, { loaded }) => sum + loaded.source.documents.filter(d => !d.empty).length, 0),
    skipped: [],
    textOf: file => texts.get(file),
    cwd,
  }
}

/** Files that the configuration names are looked up beside it. */
export function loadInput(
  input: InputText,
  options: Pick<CheckOptions, 'cwd' | 'env' | 'tier'>,
  runtime: Runtime,
): Promise<Loaded> {
  const folder = input.file.startsWith('<') ? options.cwd : dirname(resolve(options.cwd, input.file))
  return load(input.file, input.text, {
    env: options.env,
    tier: options.tier,
    runtime,
    readReferenced: path => readOrUndefined(resolve(folder, path)),
  })
}

function readOrUndefined(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

import { dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Backend } from '../backends/backend.ts'
import { offlineRuntime } from '../config/offline-runtime.ts'
import type { Snapshot } from '../config/snapshot.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { Failure } from '../diagnostics/failure.ts'
import { plainPaint } from '../diagnostics/paint.ts'
import { renderConcise } from '../diagnostics/render/concise.ts'
import { systemClock } from '../engine/clock.ts'
import { createTransport } from '../engine/upstream/transport.ts'
import { replaceFile } from '../files/write-file.ts'
import { type OnChange, readToolLock, type ToolLock, type Tools, toolLockText } from '../mcp/tool-lock.ts'
import { reportOf } from './check/check.ts'
import { loadInput, referencedWithin } from './check/check-documents.ts'
import { type InputPlace, readInput } from './input/input-files.ts'

export interface LockOptions extends InputPlace {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Unset: as in the file, or `refuse` for a new one. */
  readonly onChange: OnChange | undefined
  progress(text: string): void
}

export interface WrittenLock {
  readonly file: string
  readonly tools: number
  readonly changed: boolean
}

/** Reads the tools of all targets of each backend with a `toolLock`, and writes them to its file. */
export async function writeToolLocks(path: string, options: LockOptions): Promise<readonly WrittenLock[]> {
  const input = await readInput(path, options)
  const referenced = referencedWithin(input.file, options.cwd)
  const transport = createTransport({ clock: systemClock })
  const runtime = { ...offlineRuntime(), checksOnly: false, clock: systemClock, transport }
  const loaded = await loadInput(
    input,
    { cwd: options.cwd, env: options.env, tier: 'env', readReferenced: referenced },
    runtime,
  )
  try {
    const { snapshot } = loaded
    const errors = loaded.diagnostics.filter(finding => finding.severity === 'error' && !isOfLock(finding))
    if (!snapshot || errors.length > 0) {
      const report = await reportOf([input], { ...loaded, diagnostics: errors }, options.cwd)
      const help = renderConcise(report, { paint: plainPaint, maxProblems: 20 }).trimEnd()
      throw new Failure('input', `${input.file} cannot be loaded:`, { help })
    }
    const found = new Map<string, Map<string, Tools>>()
    for (const { name, toolLock } of locksOf(snapshot)) {
      options.progress(`Asking the targets of ${name} for their tools…`)
      const targets = found.get(toolLock.file) ?? new Map<string, Tools>()
      found.set(toolLock.file, addTargets(toolLock.file, targets, await readTools(toolLock)))
    }
    if (found.size > 0) {
      return [...found].map(([file, targets]) => writeLock(file, targets, input.file, referenced(file), options))
    }
    const help = 'add `toolLock: tools.lock.json` beside the `targets` of an MCP backend'
    throw new Failure('input', `${input.file} names no tool lock.`, { help })
  } finally {
    await transport.close()
  }
}

/** A missing or damaged lock does not prevent writing it. */
function isOfLock({ code, path }: Diagnostic): boolean {
  return code === 'GW207' && path.endsWith('toolLock')
}

type Locked = Pick<Backend, 'key' | 'name'> & { readonly toolLock: NonNullable<Backend['toolLock']> }

function locksOf({ backends, binds }: Snapshot): Locked[] {
  const routes = binds.flatMap(({ listeners }) => listeners.flatMap(({ routes }) => routes))
  const all = [...backends.values(), ...routes.flatMap(route => route.backends)].map(({ backend }) => backend)
  const locked = all.flatMap(({ key, name, toolLock }) => (toolLock ? [{ key, name, toolLock }] : []))
  return [...new Map(locked.map(each => [each.key, each])).values()]
}

async function readTools({ file, read }: Locked['toolLock']): Promise<ReadonlyMap<string, Tools>> {
  try {
    return await read()
  } catch (error) {
    throw new Failure('unreachable', `${file} is not written: ${(error as Error).message}`)
  }
}

/** Backends may share a file if they agree on each name. */
function addTargets(file: string, known: Map<string, Tools>, more: ReadonlyMap<string, Tools>): Map<string, Tools> {
  for (const [target, tools] of more) {
    const before = known.get(target)
    if (before && !isDeepStrictEqual(before, tools)) {
      const help = 'name another `toolLock` for one of their backends, or rename the target'
      throw new Failure('input', `${file} is not written: two targets \`${target}\` have different tools.`, { help })
    }
    known.set(target, tools)
  }
  return known
}

function writeLock(
  file: string,
  targets: ReadonlyMap<string, Tools>,
  config: string,
  before: unknown,
  { cwd, onChange }: LockOptions,
): WrittenLock {
  const old = Buffer.isBuffer(before) ? before.toString('utf8') : undefined
  const known = old === undefined ? undefined : readToolLock(old)
  const kept = known && 'onChange' in known ? known.onChange : 'refuse'
  const lock: ToolLock = { onChange: onChange ?? kept, targets }
  const text = toolLockText(lock)
  if (text !== old) replaceFile(resolve(dirname(resolve(cwd, config)), file), text, file, cwd)
  return { file, tools: [...targets.values()].reduce((sum, tools) => sum + tools.size, 0), changed: text !== old }
}

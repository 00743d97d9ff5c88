import type { Loaded } from '../../config/load.ts'
import type { Snapshot } from '../../config/snapshot.ts'
import { Failure } from '../../diagnostics/failure.ts'
import { HeadSnapshots } from '../../engine/head-snapshot.ts'
import type { Serving } from '../../engine/passage.ts'
import { routeTables } from '../../engine/route-table.ts'
import type { Fields } from '../../schema/untyped.ts'
import { holdsResources, loadInput, type RunOptions, referencedWithin } from '../check/check-documents.ts'
import type { InputPlace, InputText } from '../input/input-files.ts'
import type { LiveChoice } from '../input/live-objects-loader.ts'
import { readServed } from '../input/served-input.ts'
import { BackendNames } from './backend-names.ts'
import type { DryClock } from './dry-clock.ts'
import type { DryRequest } from './dry-request.ts'
import { DryWorld, type DryWorldOptions } from './dry-world.ts'
import type { DryOutcome } from './outcome.ts'
import { runRequest } from './run-request.ts'
import type { Stubs } from './stubs.ts'

export type { DryRequest } from './dry-request.ts'
export type { DryWorldOptions } from './dry-world.ts'
export type { DryCall, DryOutcome } from './outcome.ts'
export type { Stub, Stubs } from './stubs.ts'

interface DryOptions extends DryWorldOptions, Partial<Pick<RunOptions, 'tier' | 'readReferenced' | 'partial'>> {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A configuration that runs requests without a socket, one at a time. */
export interface DryGateway {
  readonly snapshot: Snapshot
  /** Stands still between requests. */
  readonly clock: DryClock
  /**
   * Throws a Failure if the configuration opens no port that the request could arrive at. `untraced`: without events,
   * which are expensive with many routes.
   */
  run(request: DryRequest, trace?: 'untraced'): Promise<DryOutcome>
  /** Resets budgets, sessions and health. `stubs` replace the previous ones. */
  reset(stubs?: Stubs): void
}

/**
 * Compiles what `run -f PATH` would serve: a file, a directory of resources, or stdin for `-`. Opens and calls nothing,
 * so variables may be unset and referenced files missing. Throws a Failure `input` if it cannot be read or served.
 */
export async function openDryGateway(path: string, options: DryOptions & InputPlace): Promise<DryGateway> {
  const { loaded, gateway } = await loadDryGateway(await readServed(path, options), options)
  if (gateway) return gateway
  const first = loaded.diagnostics.find(({ severity }) => severity === 'error')
  throw new Failure('input', `${path} cannot be served: ${first?.message ?? 'it has findings'}.`, {
    help: `See gwctl validate ${path}`,
  })
}

interface DryLoaded {
  readonly loaded: Loaded
  /** Undefined: `loaded.diagnostics` has the reason. */
  readonly gateway: DryGateway | undefined
}

/** The same for loaded texts: one standalone file, or any number of resource files. */
export async function loadDryGateway(texts: readonly InputText[], options: DryOptions): Promise<DryLoaded> {
  const world = new DryWorld(options)
  const { cwd, env, tier = 'offline', partial = false, readReferenced } = options
  const load = { cwd, env, tier, partial, ...(readReferenced === undefined ? {} : { readReferenced }) }
  const resources = texts.length > 1 && texts.every(holdsResources)
  const loaded = resources
    ? (await (await import('../input/translate-resources.ts')).loadResources(texts, load, world.runtime)).loaded
    : await loadInput(
        texts[0] as InputText,
        { readReferenced: referencedWithin(texts[0]!.file, cwd), ...load },
        world.runtime,
      )
  const { snapshot, runnable } = loaded
  return { loaded, gateway: snapshot && runnable ? gatewayOf(snapshot, world) : undefined }
}

/** Objects of a cluster, as a replica serves them. */
export async function loadLiveDryGateway(
  objects: readonly Fields[],
  choice: LiveChoice,
  options: DryWorldOptions & Pick<DryOptions, 'env'>,
): Promise<DryLoaded> {
  const world = new DryWorld(options)
  const { loadLiveObjects } = await import('../input/live-objects-loader.ts')
  const loaded = await loadLiveObjects(objects, choice, world.runtime, options.env)
  const { snapshot, runnable } = loaded
  return { loaded, gateway: snapshot && runnable ? gatewayOf(snapshot, world) : undefined }
}

function gatewayOf(snapshot: Snapshot, world: DryWorld): DryGateway {
  const heads = new HeadSnapshots(snapshot.credentials, snapshot.settings.sensitiveHeaders)
  const serving: Serving = { snapshot, tables: routeTables(snapshot), heads }
  const names = new BackendNames(serving)
  let lastId = 0
  let last: Promise<unknown> = Promise.resolve()
  return {
    snapshot,
    clock: world.clock,
    run(request, trace) {
      const traced = trace !== 'untraced'
      const run = last.then(() => runRequest(String(++lastId), request, { serving, names }, world, traced))
      last = run.catch(() => {})
      return run
    },
    reset: stubs => {
      lastId = 0
      world.reset(stubs)
    },
  }
}

import { finish } from '../../../cluster/translate/finish.ts'
import type { Change } from '../../../cluster/translate/incremental/inventory.ts'
import {
  recompile,
  type Standing,
  standingOf,
  withAttached,
  withConfig,
} from '../../../cluster/translate/incremental/recompile.ts'
import type { Status } from '../../../cluster/translate/status/conditions.ts'
import { withRefusals } from '../../../cluster/translate/status/refusals.ts'
import { translate } from '../../../cluster/translate/translate.ts'
import type { DataEntry, LiveOptions } from '../../../cluster/translate/work.ts'
import { Engines } from '../../../config/engines.ts'
import type { Snapshot } from '../../../config/snapshot.ts'
import type { ReloadableState } from '../../../engine/state-store.ts'
import { readIfRegular } from '../../../files/read-file.ts'
import { pauseEvery } from '../../../runtime/pause.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { Fields } from '../../../schema/untyped.ts'
import type { LiveObjects } from './live-objects.ts'

export interface Compiled {
  readonly snapshot: Snapshot
  readonly statuses: readonly Status[]
  /** When false, other statuses are unchanged. */
  readonly whole: boolean
}

interface World {
  readonly runtime: Runtime
  readonly state: ReloadableState
  readonly env: Readonly<Record<string, string | undefined>>
  /** Process settings from a file. */
  readonly config: Fields
}

/** Incremental changes before everything is recompiled, which frees the state of deleted objects. */
const LONGEST = 2000

/** ms for which a compilation keeps requests waiting at a time. */
const LONGEST_PART = 5

/** Compiles the contents of a cluster to snapshots; if changes affect only a few routes, only those. */
export class LiveCompiler {
  readonly #world: World
  readonly #live: LiveOptions
  readonly #engines: Engines
  #standing: Standing | undefined
  /** Statuses of Gateways and ListenerSets, which count routes. */
  #counting: Status[] = []
  #since = 0

  constructor(world: World, live: LiveOptions) {
    this.#world = world
    this.#live = live
    this.#engines = new Engines({ chance: world.runtime })
  }

  /** Throws if nothing can be compiled; mistakes in one object affect only that object. */
  async compile(changed: ReadonlySet<string>, objects: LiveObjects): Promise<Compiled> {
    return (await this.#few(changed, objects)) ?? this.#whole(objects)
  }

  async #few(changed: ReadonlySet<string>, objects: LiveObjects): Promise<Compiled | undefined> {
    const standing = this.#standing
    if (!standing || this.#since >= LONGEST) return undefined
    const changes: Change[] = []
    for (const id of changed) {
      const { resource: after, refused, faults } = objects.get(id) ?? {}
      const before = standing.inventory.get(id)
      if (refused || faults || (before && standing.faults.has(before))) return undefined
      if (before || after) changes.push({ before, after })
    }
    this.#world.state.begin(true)
    const made = await recompile(changes, standing, {
      ...this.#world,
      live: this.#live,
      engines: this.#engines,
      pause: pauseEvery(LONGEST_PART),
    })
    if (!made) {
      this.#world.state.abandon()
      return undefined
    }
    this.#since++
    this.#standing = { ...standing, snapshot: made.snapshot }
    return { snapshot: made.snapshot, statuses: [...made.statuses, ...this.#recount(made.attached)], whole: false }
  }

  #recount(attached: ReadonlyMap<string, number>): Status[] {
    if (attached.size === 0) return []
    this.#counting = this.#counting.map(status => withAttached(status, attached))
    return this.#counting
  }

  async #whole(objects: LiveObjects): Promise<Compiled> {
    const { runtime, env, state } = this.#world
    const { resources, faults } = objects
    const files = new Map<string, Buffer>()
    const pause = pauseEvery(LONGEST_PART)
    this.#standing = undefined
    state.begin(false)
    try {
      const translated = await translate(resources, faults, {
        partial: false,
        withSecrets: true,
        allowUnguarded: false,
        live: this.#live,
        pause,
        filePath: entry => keep(entry, files),
      })
      const finished = await finish(withConfig(translated, this.#world.config), {
        runtime,
        env,
        engines: this.#engines,
        pause,
        file: '<cluster>',
        readReferenced: path => (path === '/dev/null' ? Buffer.alloc(0) : (files.get(path) ?? readIfRegular(path))),
      })
      const { snapshot, diagnostics, runnable } = finished.loaded
      if (!snapshot || !runnable) {
        const [first] = diagnostics.filter(({ severity }) => severity === 'error')
        throw new Error(`${first?.file ?? ''}: ${first?.message ?? 'it cannot be compiled'}`)
      }
      this.#standing = standingOf(resources, faults, snapshot)
      this.#since = 0
      const statuses = withRefusals(finished)
      this.#counting = statuses.filter(({ status }) => status.listeners !== undefined)
      return { snapshot, statuses, whole: true }
    } catch (error) {
      state.abandon()
      throw error
    }
  }
}

function keep({ kind, namespace, name, key, bytes }: DataEntry, files: Map<string, Buffer>): string {
  const path = `<memory>/${kind}/${namespace}/${name}/${key}`
  files.set(path, bytes)
  return path
}

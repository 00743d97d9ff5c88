import type { Resource } from '../../../cluster/resources/resource.ts'
import { finish } from '../../../cluster/translate/finish.ts'
import { recompileRoute, type Standing } from '../../../cluster/translate/recompile.ts'
import type { Status } from '../../../cluster/translate/status/conditions.ts'
import { withRefusals } from '../../../cluster/translate/status/refusals.ts'
import { translate } from '../../../cluster/translate/translate.ts'
import type { DataEntry, LiveOptions } from '../../../cluster/translate/work.ts'
import { Engines } from '../../../config/engines.ts'
import type { Snapshot } from '../../../config/snapshot.ts'
import type { ReloadableState } from '../../../engine/state-store.ts'
import { readIfRegular } from '../../../files/read-file.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { asFields, type Fields } from '../../../schema/untyped.ts'
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

/** Up to this many changed routes are compiled one by one; beyond that, everything is. */
const FEW = 16

/** Compiles the contents of a cluster to snapshots; if only single routes changed, only those. */
export class LiveCompiler {
  readonly #world: World
  readonly #live: LiveOptions
  readonly #engines: Engines
  #standing: Standing | undefined

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
    if (changed.size > FEW || !this.#standing) return undefined
    const statuses: Status[] = []
    let standing = this.#standing
    this.#world.state.begin(true)
    for (const id of changed) {
      const now = objects.get(id)?.resource
      const before = now && standing.resources.find(each => isSame(each, now))
      const made = before && (await recompileRoute(before, now, standing, { ...this.#world, live: this.#live }))
      if (!made) {
        this.#world.state.abandon()
        return undefined
      }
      statuses.push(...made.statuses)
      const resources = standing.resources.map(each => (each === before ? now : each))
      standing = { ...standing, resources, snapshot: made.snapshot }
    }
    this.#standing = standing
    return { snapshot: standing.snapshot, statuses, whole: false }
  }

  async #whole(objects: LiveObjects): Promise<Compiled> {
    const { runtime, env, state } = this.#world
    const { resources, faults } = objects
    const files = new Map<string, Buffer>()
    this.#standing = undefined
    state.begin(false)
    try {
      const translated = translate(resources, faults, {
        partial: false,
        withSecrets: true,
        allowUnguarded: false,
        live: this.#live,
        filePath: entry => keep(entry, files),
      })
      const { config } = this.#world
      const value = { ...translated.value, config: { ...config, ...asFields(translated.value.config) } }
      const finished = await finish(Object.keys(config).length === 0 ? translated : { ...translated, value }, {
        runtime,
        env,
        engines: this.#engines,
        file: '<cluster>',
        readReferenced: path => (path === '/dev/null' ? Buffer.alloc(0) : (files.get(path) ?? readIfRegular(path))),
      })
      const { snapshot, diagnostics, runnable } = finished.loaded
      if (!snapshot || !runnable) {
        const [first] = diagnostics.filter(({ severity }) => severity === 'error')
        throw new Error(`${first?.file ?? ''}: ${first?.message ?? 'it cannot be compiled'}`)
      }
      this.#standing = { resources, faults, snapshot }
      return { snapshot, statuses: withRefusals(finished), whole: true }
    } catch (error) {
      state.abandon()
      throw error
    }
  }
}

function isSame(a: Resource, b: Resource): boolean {
  return a.kind === b.kind && a.name === b.name && a.namespace === b.namespace
}

function keep({ kind, namespace, name, key, bytes }: DataEntry, files: Map<string, Buffer>): string {
  const path = `<memory>/${kind}/${namespace}/${name}/${key}`
  files.set(path, bytes)
  return path
}

import { BodyMemory } from '../http/body-memory.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** The runtime for `validate`: without sockets, timers or state of other requests. */
export function offlineRuntime(): Runtime {
  const refuse = (): never => {
    throw new Error('a policy tried to call out while the configuration was only being checked')
  }
  const log = { log: () => {}, child: () => log }
  const held = new Map<string, object>()
  return {
    clock: { now: () => 0, mono: () => 0, after: () => ({ cancel: () => {} }) },
    random: () => 0,
    uuid: () => '00000000-0000-4000-8000-000000000000',
    checksOnly: true,
    transport: { dispatch: refuse, close: async () => {} },
    state: {
      get<T extends object>(key: string, make: () => T): T {
        const known = held.get(key) ?? make()
        held.set(key, known)
        return known as T
      },
      memory: (_key, bytes) => new ArrayBuffer(bytes),
    },
    log,
    worker: { index: 0, count: 1 },
    bodies: new BodyMemory(),
  }
}

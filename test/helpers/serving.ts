import type { CompileContext } from '../../src/policies/policy.ts'

const loading: Promise<void>[] = []

/** As the configuration loader does it; the test waits for `loaded` before the first request. */
export const serving: CompileContext['serving'] = <M, T>(load: () => Promise<M>, make: (module: M) => T) => {
  const made: { part?: T } = {}
  const before = loading.at(-1)
  loading.push(
    (async () => {
      await before
      made.part = make(await load())
    })(),
  )
  return made as { readonly part: T }
}

/** Once everything that was asked for has been loaded. */
export async function loaded(): Promise<void> {
  await loading.at(-1)
}

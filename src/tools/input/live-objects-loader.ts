import { liveResource } from '../../cluster/resources/live-resource.ts'
import { readLive } from '../../cluster/resources/read-live.ts'
import type { Resource } from '../../cluster/resources/resource.ts'
import { finish } from '../../cluster/translate/finish.ts'
import { translate } from '../../cluster/translate/translate.ts'
import type { LiveOptions } from '../../cluster/translate/work.ts'
import type { Loaded } from '../../config/load.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import { asFields, asItems, asText, type Fields } from '../../schema/untyped.ts'
import { requireGateway } from './translate-resources.ts'

export type LiveChoice = Pick<LiveOptions, 'className' | 'gateway'>

/** Loads objects of a cluster as its replicas do: a mistake costs only its object. Throws a Failure `input`. */
export async function loadLiveObjects(
  objects: readonly Fields[],
  choice: LiveChoice,
  runtime: Runtime,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Loaded> {
  const resources: Resource[] = []
  const faults = new Map<Resource, readonly string[]>()
  for (const written of objects.flatMap(raw => liveResource(raw) ?? [])) {
    const { resource, faults: found } = await readLive(written, {})
    if (!resource) continue
    resources.push(resource)
    if (found) faults.set(resource, found)
  }
  if (choice.gateway !== undefined) requireGateway(choice.gateway, resources)
  const files = new Map<string, Buffer>()
  const translated = await translate(resources, faults, {
    partial: false,
    withSecrets: true,
    allowUnguarded: false,
    live: { ...choice, addressOf: ({ raw }) => addressOf(raw) },
    filePath: ({ kind, namespace, name, key, bytes }) => {
      const path = `<memory>/${kind}/${namespace}/${name}/${key}`
      files.set(path, bytes)
      return path
    },
  })
  const readReferenced = (path: string) => (path === '/dev/null' ? Buffer.alloc(0) : files.get(path))
  return (await finish(translated, { runtime, env, file: '<cluster>', readReferenced })).loaded
}

/** As its replica has published it. */
function addressOf({ status }: Fields) {
  const published = asItems(asFields(status)?.addresses).flatMap(({ value }) => asText(value) ?? [])
  return { listen: undefined, published }
}

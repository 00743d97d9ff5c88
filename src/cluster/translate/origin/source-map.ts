import { formatPath, type Path } from '../../../diagnostics/diagnostic.ts'
import type { From, Origins } from './origins.ts'

export interface MappedPart {
  /** In the file: `routes[0].backends[0]`. */
  readonly path: string
  readonly file: string
  readonly line: number
  readonly kind: string
  readonly namespace?: string
  readonly name?: string
  /** In the resource: `spec.rules[0].backendRefs[0]`. */
  readonly field: string
}

/** All parts of a file with a known origin. */
export function sourceMap(value: object, origins: Origins): MappedPart[] {
  const parts: MappedPart[] = []
  const visit = (holder: object, path: Path): void => {
    for (const [key, item] of Object.entries(holder)) {
      const step = Array.isArray(holder) ? Number(key) : key
      const from = origins.own(holder, step, item)
      const inner = [...path, step]
      if (from) parts.push({ path: formatPath(inner), ...placeOf(from) })
      if (typeof item === 'object' && item !== null) visit(item, inner)
    }
  }
  visit(value, [])
  return parts
}

function placeOf({ resource, path }: From): Omit<MappedPart, 'path'> {
  const { file, line } = resource.document.origin([...resource.path, ...path])
  return {
    file,
    line,
    kind: resource.kindName,
    ...(resource.namespace === undefined ? {} : { namespace: resource.namespace }),
    ...(resource.name === undefined ? {} : { name: resource.name }),
    field: formatPath(path),
  }
}

/** `k8s/app.yaml:12 HTTPRoute/default/app spec.rules[0]`. */
export function annotation(from: From): string {
  const { file, line, kind, namespace, name, field } = placeOf(from)
  return `${file}:${line} ${[kind, namespace, name].filter(part => part !== undefined).join('/')} ${field}`.trimEnd()
}

import type { Finding, Path } from '../diagnostics/diagnostic.ts'
import type { SourceDocument } from '../diagnostics/source.ts'
import type { Runtime } from '../http/runtime.ts'
import type { CompileContext, Limits } from '../policies/policy.ts'

export type Tier = 'offline' | 'env'
/** Reads a file that the configuration names; `undefined` when it does not exist or cannot be read. */
export type ReadReferenced = (path: string) => Buffer | undefined

/** What every part of the compiler shares: one document, one runtime, one list of findings. */
export interface Compilation {
  readonly document: SourceDocument
  readonly paths: WeakMap<object, Path>
  readonly runtime: Runtime
  /** The document's value without its secrets. */
  readonly redacted: unknown
  readonly tier: Tier
  readonly readReferenced: ReadReferenced
  readonly env: Readonly<Record<string, string | undefined>>
  readonly limits: Limits
  report(finding: Finding): void
}

/** The context of one policy or backend: `spec` says where it was written, `identity` who holds it. */
export function contextFor(c: Compilation, path: Path, identity: string): CompileContext {
  // Not a hash: loading the platform's cryptography would cost more than the longer key.
  const fingerprint = lazyOnce(() => JSON.stringify(valueAt(c.document.value, path)) ?? '')
  return {
    identity,
    origin: c.document.origin(path),
    runtime: c.runtime,
    limits: c.limits,
    report: finding =>
      c.report({
        ...finding,
        path: [...path, ...finding.path],
        related: finding.related?.map(r => ({ ...r, path: [...path, ...r.path] })) ?? [],
      }),
    originOf: inner => c.document.origin([...path, ...inner]),
    readFile: (file, at) => readReferenced(c, file, [...path, ...at]),
    state: (name, make) => c.runtime.state.get(`${identity}#${name}#${fingerprint()}`, make),
    memory: (name, bytes) => c.runtime.state.memory(`${identity}#${name}#${fingerprint()}`, bytes),
  }
}

export function readReferenced(c: Compilation, file: string, path: Path): Buffer | undefined {
  const bytes = c.readReferenced(file)
  if (bytes === undefined) {
    const error = c.tier === 'env'
    c.report({
      code: error ? 'GW207' : 'GW206',
      message: `the file \`${file}\` cannot be read`,
      path,
      at: 'value',
      label: 'no such file here',
      help: error
        ? 'create the file or correct the path; paths are relative to the configuration file'
        : 'paths are relative to the configuration file; `gwctl run` needs the file',
    })
  }
  return bytes
}

export function valueAt(root: unknown, path: Path): unknown {
  let at = root
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return undefined
    at = (at as Record<string | number, unknown>)[step]
  }
  return at
}

function lazyOnce<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

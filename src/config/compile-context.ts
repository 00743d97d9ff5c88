import type { CredentialPlaces } from '../auth/credential-places.ts'
import type { BackendContext } from '../backends/backend.ts'
import type { Finding, Path } from '../diagnostics/diagnostic.ts'
import type { SourceDocument } from '../diagnostics/source.ts'
import { closest } from '../diagnostics/suggest.ts'
import type { CompileContext, Limits, Serving } from '../policies/policy.ts'
import type { Pause } from '../runtime/pause.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Callees } from './references/callees.ts'

export type Tier = 'syntax' | 'offline' | 'env'
/**
 * Reads a file that the configuration references. Undefined if it is missing or unreadable, `LeftAlone` if it lies
 * outside the files that may be read.
 */
export type ReadReferenced = (path: string) => Buffer | LeftAlone | undefined

export interface LeftAlone {
  /** What the file lies outside of, as a phrase for messages. */
  readonly outsideOf: string
}

/** Shared by all parts of the compiler: one document, one runtime, one list of findings. */
export interface Compilation {
  readonly document: SourceDocument
  readonly paths: WeakMap<object, Path>
  readonly runtime: Runtime
  /** The document's value, redacted. */
  readonly redacted: unknown
  readonly tier: Tier
  readonly readReferenced: ReadReferenced
  readonly env: Readonly<Record<string, string | undefined>>
  readonly limits: Limits
  readonly credentials: CredentialPlaces
  /** Identities of the objects that share a spec, by that spec, in file order. */
  readonly equals: Map<string, string[]>
  /** Deferred loaders of the request path, in order of registration. */
  readonly serving: (() => Promise<void>)[]
  readonly pause: Pause | undefined
  report(finding: Finding): void
  /** Resolves the service that a policy calls. Unset as long as there are no backends to refer to. */
  readonly callees?: () => Callees
}

/** The context of one policy or backend: `path` locates its `spec`, `identity` names its owner. */
export function contextFor(c: Compilation, spec: unknown, path: Path, identity: string): CompileContext {
  const fingerprint = lazyOnce(() => fingerprintOf(c, path))
  const written = (inner: Path) => writtenPath(c, spec, path, inner)
  return {
    identity,
    origin: c.document.origin(path),
    runtime: c.runtime,
    limits: c.limits,
    hides: place => c.credentials.add(place),
    env: c.env,
    report: finding =>
      c.report({
        ...finding,
        path: written(finding.path),
        related: finding.related?.map(r => ({ ...r, path: written(r.path) })) ?? [],
      }),
    originOf: inner => c.document.origin(written(inner)),
    readFile: (file, at) => readReferenced(c, file, written(at)),
    ...(c.callees === undefined ? {} : { callee: calleesOf(c.callees, identity, written) }),
    state: (name, make) => c.runtime.state.get(`${identity}#${name}#${fingerprint()}`, make),
    serving: (load, make) => serving(c, load, make),
    memory: (name, bytes) => c.runtime.state.memory(`${identity}#${name}#${fingerprint()}`, bytes),
  }
}

function serving<M, T>(c: Compilation, load: () => Promise<M>, make: (module: M) => T): Serving<T> {
  const made: { part?: T } = {}
  if (!c.runtime.checksOnly) {
    c.serving.push(async () => {
      made.part = make(await load())
    })
  }
  return made as Serving<T>
}

/** State of the spec at `path`, kept when the spec moves in the file. `identity` distinguishes it from equal specs. */
export function movingState(c: Compilation, path: Path, identity: string): BackendContext['movingState'] {
  const fingerprint = lazyOnce(() => fingerprintOf(c, path))
  return (name, make) => c.runtime.state.get(placeAmong(c.equals, `${name}#${fingerprint()}`, identity), make)
}

/** Objects with equal specs have separate state, wherever they are in the file. */
function placeAmong(equals: Map<string, string[]>, written: string, identity: string): string {
  const identities = equals.get(written) ?? []
  equals.set(written, identities)
  if (!identities.includes(identity)) identities.push(identity)
  return `moving#${written}#${identities.indexOf(identity)}`
}

function fingerprintOf(c: Compilation, path: Path): string {
  return digestOf(JSON.stringify(valueAt(c.document.value, path)) ?? '')
}

function calleesOf(
  callees: () => Callees,
  identity: string,
  written: (inner: Path) => Path,
): NonNullable<CompileContext['callee']> {
  return (spec, at, policies = spec.policies && { specs: spec.policies, at: [...at, 'policies'] }) =>
    callees().resolve(spec, written(at), identity, policies && { specs: policies.specs, path: written(policies.at) })
}

export function readReferenced(c: Compilation, file: string, path: Path): Buffer | undefined {
  const bytes = c.readReferenced(file)
  if (bytes !== undefined && !Buffer.isBuffer(bytes)) {
    c.report({
      code: 'GW206',
      message: `the file \`${file}\` is not read: it is outside of ${bytes.outsideOf}`,
      path,
      at: 'value',
      label: 'not looked at',
      help: '`gwctl validate --tier env` reads it, as `gwctl run` does; nothing else does',
    })
    return undefined
  }
  if (bytes === undefined) {
    const error = c.tier === 'env'
    c.report({
      code: error ? 'GW207' : 'GW206',
      message: `the file \`${file}\` cannot be read`,
      path,
      at: 'value',
      label: 'no regular file here that can be read',
      help: error
        ? 'create the file or correct the path; paths are relative to the configuration file'
        : 'paths are relative to the configuration file; `gwctl run` needs the file',
    })
  }
  return bytes
}

/** Where a part of a decoded value was written: items dropped from a list have shifted those behind them. */
export function writtenPath(c: Compilation, value: unknown, base: Path, inner: Path): Path {
  let at = value
  let path = base
  for (const step of inner) {
    at = typeof at === 'object' && at !== null ? (at as Record<string | number, unknown>)[step] : undefined
    path = (typeof at === 'object' && at !== null && c.paths.get(at)) || [...path, step]
  }
  return path
}

/**
 * The names of the list items that were dropped for findings of their own, undefined for an unreadable name. A
 * reference to such an item is not a further mistake.
 */
export function leftOut(c: Compilation, list: Path, kept: readonly unknown[]): (string | undefined)[] {
  const written = valueAt(c.document.value, list)
  if (!Array.isArray(written) || written.length === kept.length) return []
  const sound = new Set(kept.map(item => c.paths.get(item as object)?.at(-1)))
  return written.flatMap((item: unknown, i) => {
    if (sound.has(i)) return []
    const name = valueAt(item, ['name'])
    return [typeof name === 'string' ? name : undefined]
  })
}

/** Whether a section seems to be present under a misspelt name: references into it are then not further mistakes. */
export function sectionMisspelt(c: Compilation, section: string): boolean {
  const written = c.document.value
  if (typeof written !== 'object' || written === null || Object.hasOwn(written, section)) return false
  return Object.keys(written).some(key => closest(key, [section]).length > 0)
}

export function valueAt(root: unknown, path: Path): unknown {
  let at = root
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return undefined
    at = (at as Record<string | number, unknown>)[step]
  }
  return at
}

/**
 * A 64-bit digest that distinguishes a spec from its previous version (FNV-1a over UTF-16 units, two lanes). A spec of
 * many parts has state for each part, so the text itself would be kept as often; and the platform's cryptography is
 * slow to load.
 */
function digestOf(text: string): string {
  let low = 0x811c9dc5
  let high = 0x9dc5811c
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    low = Math.imul(low ^ unit, 0x01000193)
    high = Math.imul(high ^ unit ^ (low >>> 15), 0x01000193)
  }
  return (low >>> 0).toString(36) + (high >>> 0).toString(36).padStart(7, '0')
}

function lazyOnce<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

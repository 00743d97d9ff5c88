import type { BackendContext, BackendDefinition, ServiceReference, SessionSettings } from '../backends/backend.ts'
import { backends } from '../backends/index.ts'
import type { Path } from '../diagnostics/diagnostic.ts'
import { didYouMean } from '../diagnostics/suggest.ts'
import type { CostCatalog } from '../http/exchange.ts'
import type { UpstreamSettings } from '../policies/policy.ts'
import { assemble, responseSteps } from './assemble-pipeline.ts'
import {
  type Compilation,
  contextFor,
  leftOut,
  movingState,
  sectionMisspelt,
  valueAt,
  writtenPath,
} from './compile-context.ts'
import type { PolicyCompiler, PolicyLevel } from './compile-policies.ts'
import { partPolicies } from './part-policies.ts'
import type { Services } from './references/services.ts'
import type { Settings } from './settings.ts'
import type { Pipeline, WeightedBackend } from './snapshot.ts'
import type { NamedBackend } from './standalone/standalone.ts'
import type { TargetedLevels } from './targeted-policies.ts'

// biome-ignore lint/suspicious/noExplicitAny: the list holds definitions of every spec; each is read through its own kind
type AnyBackend = BackendDefinition<string, any>
type BackendSpec = Readonly<Record<string, unknown>>

interface Named {
  readonly spec: NamedBackend
  readonly path: Path
  readonly reference: string
}

/** Compiles the backends of routes and the named ones; a named backend shares its state over all references to it. */
export class BackendCompiler {
  readonly #c: Compilation
  readonly #policies: PolicyCompiler
  readonly #sessions: SessionSettings
  readonly #prices: CostCatalog | undefined
  readonly #named = new Map<string, Named>()
  readonly #services: Services
  /** Applied where no policy overrides them. */
  readonly #defaults: Pick<UpstreamSettings, 'connectTimeout' | 'keepAlive' | 'ownPorts'>
  readonly #all: readonly NamedBackend[]
  readonly #targeted: TargetedLevels

  constructor(
    c: Compilation,
    policies: PolicyCompiler,
    named: readonly NamedBackend[],
    targeted: TargetedLevels,
    services: Services,
    { sessionKey, mcpSessionTtl, connectTimeout, keepAlive }: Settings,
    ownPorts: ReadonlySet<number>,
    prices: CostCatalog | undefined,
  ) {
    this.#prices = prices
    this.#services = services
    this.#defaults = { connectTimeout, keepAlive, ownPorts }
    this.#sessions = {
      ttl: mcpSessionTtl,
      ...(sessionKey === undefined ? {} : { key: Buffer.from(sessionKey, 'hex') }),
    }
    this.#c = c
    this.#policies = policies
    this.#targeted = targeted
    this.#all = named
    for (const spec of named) this.#add(spec)
  }

  get references(): readonly string[] {
    return [...this.#named.keys()]
  }

  /** Compiles every named backend on its own, so that an unused one is checked and shown too. */
  compileNamed(): Map<string, WeightedBackend> {
    const out = new Map<string, WeightedBackend>()
    for (const named of this.#named.values()) {
      const compiled = this.#compileNamed(named, [], 1)
      if (compiled) out.set(named.reference, compiled)
    }
    return out
  }

  /** `levels`: the policies that apply to this reference from its route, widest first. Undefined after a finding. */
  compile(spec: BackendSpec, path: Path, key: string, levels: readonly PolicyLevel[]): WeightedBackend | undefined {
    const weight = spec.weight as number
    const own = levelOf(spec, path, `backend:${key}`)
    const reference = spec.backend
    if (typeof reference === 'string') {
      const named = this.resolve(reference, [...path, 'backend'])
      return named && this.#compileNamed(named, [...levels, ...own], weight)
    }
    const definition = (backends as readonly AnyBackend[]).find(b => spec[b.kind] !== undefined)
    if (!definition || definition.unserved !== undefined) return undefined
    return this.#compile(
      definition,
      spec[definition.kind],
      [...path, definition.kind],
      key,
      key,
      [...this.#atService(spec.service as ServiceReference | undefined), ...levels, ...own],
      weight,
    )
  }

  #atService(service: ServiceReference | undefined): readonly PolicyLevel[] {
    return service === undefined ? [] : this.#targeted.forService(service.name, service.port)
  }

  /** The compile context of the backend at `path`. */
  contextOf(
    spec: unknown,
    path: Path,
    key: string,
    name: string,
    settings: UpstreamSettings,
    whole: readonly PolicyLevel[],
  ): BackendContext {
    return {
      ...contextFor(this.#c, spec, path, `backend:${key}`),
      movingState: movingState(this.#c, path, `backend:${key}`),
      key,
      name,
      settings: { ...this.#defaults, ...settings },
      service: (reference, at) =>
        this.#services.resolve(reference.name, reference.port, writtenPath(this.#c, spec, path, at)),
      sessions: this.#sessions,
      prices: this.#prices,
      leftOut: list => leftOut(this.#c, [...path, ...list], (valueAt(spec, list) ?? []) as readonly unknown[]),
      policiesAt: partPolicies(
        this.#c,
        this.#policies,
        part => writtenPath(this.#c, spec, path, part),
        key,
        part => valueAt(spec, part) as BackendSpec | undefined,
        section => this.#targeted.forSection(key, section),
        { whole },
      ),
    }
  }

  resolve(reference: string, path: Path): Named | undefined {
    const named = this.#named.get(reference)
    if (named) return named
    if (this.#droppedName(reference)) return undefined
    const bare = this.#named.has(`/${reference}`) ? `/${reference}` : undefined
    const help = bare ? `write \`${bare}\`: references start with \`/\`` : didYouMean(reference, this.#named.keys())
    this.#c.report({
      code: 'GW201',
      message: `no backend is named \`${reference}\``,
      path,
      at: 'value',
      label: 'not defined in `backends`',
      help:
        help ??
        (this.#named.size > 0
          ? `backends defined here: ${[...this.#named.keys()].map(n => `\`${n}\``).join(', ')}`
          : 'the file has no `backends` section'),
      ...(bare ? { fix: { title: `write ${bare}`, safe: true, replace: 'value' as const, with: bare } } : {}),
    })
    return undefined
  }

  #add(spec: NamedBackend): void {
    const path = this.#c.paths.get(spec) ?? []
    const reference = `${spec.namespace ?? ''}/${spec.name}`
    const first = this.#named.get(reference)
    if (first) {
      this.#c.report({
        code: 'GW203',
        message: `two backends are named \`${spec.name}\``,
        path: [...path, 'name'],
        at: 'value',
        label: 'used a second time',
        related: [{ path: [...first.path, 'name'], at: 'value', message: 'first used here' }],
      })
      return
    }
    this.#named.set(reference, { spec, path, reference })
  }

  /** Whether the name belongs to a backend that was dropped for findings of its own, and so is not unknown. */
  #droppedName(reference: string): boolean {
    if (sectionMisspelt(this.#c, 'backends')) return true
    const name = reference.slice(reference.indexOf('/') + 1)
    return leftOut(this.#c, ['backends'], this.#all).some(dropped => dropped === undefined || dropped === name)
  }

  #compileNamed(named: Named, levels: readonly PolicyLevel[], weight: number): WeightedBackend | undefined {
    const spec = named.spec as unknown as BackendSpec
    const definition = (backends as readonly AnyBackend[]).find(b => spec[b.kind] !== undefined)
    if (!definition || definition.unserved !== undefined) return undefined
    const own = levelOf(spec, named.path, `backend:${named.reference}`)
    const all = [
      ...this.#targeted.forBackend(named.reference),
      ...levels.filter(level => level.on !== 'backend'),
      ...own,
      ...levels.filter(level => level.on === 'backend'),
    ]
    return this.#compile(
      definition,
      spec[definition.kind],
      [...named.path, definition.kind],
      named.reference,
      named.spec.name,
      all,
      weight,
    )
  }

  #compile(
    definition: AnyBackend,
    spec: unknown,
    path: Path,
    key: string,
    name: string,
    levels: readonly PolicyLevel[],
    weight: number,
  ): WeightedBackend {
    const pipeline: Pipeline = assemble(this.#policies.steps(levels, 'backend'), true)
    const { affinity, picked } = pipeline.upstream
    if (affinity && !CHOOSING.has(definition.kind)) this.#reportChoice('sessionAffinity', definition.kind, levels)
    if (picked && definition.kind !== 'service') this.#reportChoice('inferenceRouting', definition.kind, levels)
    const backend = definition.compile(spec, this.contextOf(spec, path, key, name, pipeline.upstream, levels))
    return {
      weight,
      backend,
      pipeline,
      ...responseSteps(assemble([]), pipeline),
      spec: valueAt(this.#c.redacted, path),
      origin: this.#c.document.origin(path),
    }
  }

  /** Reported at the policy: one that applies to several backends concerns those that have endpoints. */
  #reportChoice(policy: 'sessionAffinity' | 'inferenceRouting', kind: string, levels: readonly PolicyLevel[]): void {
    const own = levels.findLast(level => level.specs[policy] !== undefined)
    if (own === undefined || own.targeted) return
    this.#c.report({
      code: 'GW601',
      message: `\`${policy}\` is not served on a backend of kind \`${kind}\``,
      path: [...own.path, policy],
      at: 'key',
      label: 'gwctl run refuses to start with this',
      help:
        policy === 'inferenceRouting'
          ? 'only a `service` has endpoints that a picker can choose'
          : 'only a `service` has endpoints to choose from, and an `ai` backend providers',
    })
  }
}

/** Kinds of backend that select an endpoint per request. */
const CHOOSING: ReadonlySet<string> = new Set(['service', 'ai'])

function levelOf(spec: BackendSpec, path: Path, identity: string): PolicyLevel[] {
  const specs = spec.policies as Readonly<Record<string, unknown>> | undefined
  return specs ? [{ specs, path: [...path, 'policies'], on: 'backend', identity }] : []
}

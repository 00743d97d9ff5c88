import { type CallSteps, NO_STEPS } from '../../calls/step.ts'
import type { Finding, Origin, Path } from '../../diagnostics/diagnostic.ts'
import type { Exchange } from '../../http/exchange.ts'
import { compileBodyEdit, compileFinalEdit } from '../../llm/body-edit.ts'
import type { GuardSet } from '../../llm/guards/guard.ts'
import { compileRoutes, DEFAULT_ROUTES, type RouteSelector } from '../../llm/route-type.ts'
import type { HealthRules } from '../../policies/policy.ts'
import type { BackendContext } from '../backend.ts'
import { type EndpointHealth, endpointHealth } from '../endpoint-health.ts'
import type { LlmSpec, ModelParams, ModelSpec, ProviderEntrySpec } from './llm-schema.ts'
import {
  type AiContext,
  aiContext,
  type ProviderAddress,
  type ProviderTarget,
  providerTarget,
} from './provider-target.ts'
import { PROVIDERS, type ProviderKey } from './providers/index.ts'
import { PRESETS, type Preset, type PresetName } from './providers/presets.ts'
import type { Provider, Wire } from './providers/provider.ts'

/** A model that can be called. */
export interface Model {
  readonly name: string
  readonly id: string | undefined
  readonly visible: boolean
  readonly to: ProviderTarget
  readonly health: EndpointHealth
  readonly rules: HealthRules | undefined
  readonly routeOf: RouteSelector
  /** Whether the request's headers satisfy the model's conditions. */
  fits(x: Exchange): boolean
  /** Decide who may use the model. */
  readonly authorization: CallSteps
  /** Run around each call. */
  readonly steps: CallSteps
  readonly origin: Origin
}

/** Models in file order, without those that have findings. */
export function compileModels(spec: LlmSpec, backend: BackendContext): Model[] {
  const ctx = aiContext(backend)
  const providers = new Map<string, ProviderEntrySpec>()
  for (const [i, entry] of (spec.providers ?? []).entries()) {
    if (providers.has(entry.name)) ctx.report(usedTwice('provider entries', entry.name, ['providers', i, 'name']))
    else providers.set(entry.name, entry)
  }
  const ids = new Set<string>()
  const guards = sectionGuards(ctx)
  return spec.models.flatMap((model, i) => {
    if (model.id !== undefined && ids.has(model.id)) {
      ctx.report(usedTwice('models', model.id, ['models', i, 'id']))
      return []
    }
    if (model.id !== undefined) ids.add(model.id)
    return compileModel(model, i, providers, spec, guards, ctx) ?? []
  })
}

/** Guards that apply to all models. */
function sectionGuards(ctx: BackendContext): readonly GuardSet[] {
  const places: readonly Path[] = [[], ['policies']]
  return [...(ctx.settings.guards ?? []), ...places.flatMap(path => ctx.policiesAt(path)?.settings.guards ?? [])]
}

function usedTwice(what: string, name: string, path: Path): Finding {
  return { code: 'GW203', path, at: 'value', message: `two ${what} are called \`${name}\`` }
}

function compileModel(
  spec: ModelSpec,
  index: number,
  providers: ReadonlyMap<string, ProviderEntrySpec>,
  section: LlmSpec,
  guards: readonly GuardSet[],
  ctx: AiContext,
): Model | undefined {
  const path: Path = ['models', index]
  const source = sourceOf(spec, path, providers, section, ctx)
  if (source === undefined) return undefined
  const { params } = source
  const chosen = wireFor(source, ctx)
  if (chosen === undefined) return undefined
  const policies = ctx.policiesAt(path)
  const to = providerTarget({
    names: [spec.name, typeof spec.provider === 'string' ? spec.provider : (spec.provider.reference ?? 'custom')],
    provider: chosen.provider,
    wire: { ...chosen.wire, model: params.model ?? chosen.wire.model },
    address: { ...addressOf(params), ...(chosen.address && !hasAddress(params) ? chosen.address : {}) },
    secure: params.hostOverride === undefined && (params.baseUrl?.secure ?? (!hasAddress(params) && chosen.secure)),
    settings: {
      ...(ctx.settings.llm && { llm: ctx.settings.llm }),
      ...policies?.settings,
      // A model adds to the section's guards and cannot remove any.
      guards: [...guards, ...(policies?.settings.guards ?? [])],
    },
    key: readKey(params, source.paramsPath, ctx),
    edit: compileBodyEdit(mergedEdits(spec, source.defaults)),
    final: compileFinalEdit(spec.finalTransformation),
    caching: spec.promptCaching ?? source.defaults?.promptCaching,
    tokenize: params.tokenize,
    ctx,
  })
  if (to === undefined) {
    ctx.report({
      code: 'GW103',
      path: source.providerPath,
      at: 'key',
      message: 'a custom provider has no address of its own: `params.baseUrl` is required',
      label: '`params.baseUrl` is missing',
    })
    return undefined
  }
  return {
    name: spec.name,
    id: spec.id,
    visible: spec.visibility === 'public',
    to,
    health: endpointHealth(ctx, `model:${spec.id ?? spec.name}:${index}`),
    rules: policies?.settings.health,
    routeOf: compileRoutes(spec.passthrough === 'detect' ? { ...DEFAULT_ROUTES, '*': 'detect' } : DEFAULT_ROUTES),
    fits: compileMatches(spec.matches),
    authorization: ctx.policiesAt([...path, 'authorization'])?.steps ?? NO_STEPS,
    steps: policies?.steps ?? NO_STEPS,
    origin: ctx.originOf(path),
  }
}

/** The location of a model's provider and its settings: the model, or the entry that it refers to. */
interface Source {
  readonly provider: ModelSpec['provider'] | ProviderEntrySpec['provider']
  readonly providerPath: Path
  readonly params: ModelParams
  readonly paramsPath: Path
  readonly defaults: ProviderEntrySpec['defaults']
}

function sourceOf(
  spec: ModelSpec,
  path: Path,
  providers: ReadonlyMap<string, ProviderEntrySpec>,
  section: LlmSpec,
  ctx: BackendContext,
): Source | undefined {
  const { provider } = spec
  const params = spec.params ?? {}
  if (typeof provider === 'string' || provider.reference === undefined) {
    return {
      provider,
      providerPath: [...path, 'provider'],
      params,
      paramsPath: [...path, 'params'],
      defaults: undefined,
    }
  }
  const entry = providers.get(provider.reference)
  if (entry === undefined) {
    const dropped = ctx.leftOut?.(['providers']) ?? []
    if (dropped.includes(undefined) || dropped.includes(provider.reference)) return undefined
    ctx.report({
      code: 'GW204',
      path: [...path, 'provider', 'reference'],
      at: 'value',
      message: `there is no provider entry called \`${provider.reference}\``,
      ...(providers.size === 0 ? {} : { help: `defined are: ${[...providers.keys()].join(', ')}` }),
    })
    return undefined
  }
  const extra = Object.keys(params).find(name => name !== 'model')
  if (extra !== undefined) {
    ctx.report({
      code: 'GW111',
      path: [...path, 'params', extra],
      at: 'key',
      message: `\`${extra}\` is taken from the provider entry \`${entry.name}\`: beside a reference only \`model\` is set`,
    })
    return undefined
  }
  const at = (section.providers ?? []).indexOf(entry)
  const entryPath = ['providers', at]
  return {
    provider: entry.provider,
    providerPath: [...entryPath, 'provider'],
    params: { ...entry.params, ...params },
    paramsPath: [...entryPath, 'params'],
    defaults: entry.defaults,
  }
}

interface Chosen {
  readonly provider: string
  readonly wire: Wire
  /** A preset's own address. */
  readonly address?: ProviderAddress
  readonly secure?: boolean
}

function wireFor({ provider, providerPath, params }: Source, ctx: BackendContext): Chosen | undefined {
  if (typeof provider !== 'string') {
    const settings = provider.custom
    if (settings === undefined) return undefined
    return { provider: settings.providerOverride ?? 'custom', wire: PROVIDERS.custom.wire(settings) }
  }
  if (isPreset(provider)) {
    const { baseUrl, formats, takesThoughts = false }: Preset = PRESETS[provider]
    const url = new URL(baseUrl)
    const secure = url.protocol === 'https:'
    const pathPrefix = url.pathname.replace(/\/+$/, '')
    return {
      provider,
      wire: { ...PROVIDERS.custom.wire({ formats }), takesThoughts },
      address: {
        hostOverride: { host: url.hostname, port: Number(url.port) || (secure ? 443 : 80) },
        ...(pathPrefix === '' ? {} : { pathPrefix }),
      },
      secure,
    }
  }
  const settings = settingsOf(provider, params, providerPath, ctx)
  if (settings === undefined) return undefined
  const { telemetryName, wire } = PROVIDERS[provider]
  return { provider: telemetryName, wire: wire(settings as never) }
}

type AnyProvider = Pick<Provider<string, unknown>, 'settings'> & { readonly params?: Readonly<Record<string, string>> }

/** The provider's own settings, renamed from `params`. Undefined after a finding. */
function settingsOf(
  provider: Exclude<ProviderKey, 'custom'>,
  params: ModelParams,
  path: Path,
  ctx: BackendContext,
): Readonly<Record<string, unknown>> | undefined {
  const { settings, params: names = {} }: AnyProvider = PROVIDERS[provider]
  const found: Record<string, unknown> = {}
  if (settings.node.kind !== 'object') return found
  for (const [name, { mode, default: usual }] of Object.entries(settings.node.fields)) {
    const param = names[name] ?? name
    const value = params[param as keyof ModelParams] ?? usual
    if (value !== undefined) found[name] = value
    else if (mode === 'required') {
      ctx.report({
        code: 'GW103',
        path,
        at: 'value',
        message: `provider \`${provider}\` needs \`params.${param}\``,
        label: `\`params.${param}\` is missing`,
      })
      return undefined
    }
  }
  return found
}

function isPreset(name: string): name is PresetName {
  return Object.hasOwn(PRESETS, name)
}

function hasAddress(params: ModelParams): boolean {
  return params.baseUrl !== undefined || params.hostOverride !== undefined
}

/** `baseUrl` supplies what the individual fields do not. */
function addressOf(params: ModelParams): ProviderAddress {
  const { baseUrl, hostOverride, pathOverride } = params
  const pathPrefix = params.pathPrefix ?? (baseUrl?.prefix || undefined)
  return {
    ...(hostOverride ? { hostOverride } : baseUrl ? { hostOverride: { host: baseUrl.host, port: baseUrl.port } } : {}),
    ...(pathOverride === undefined ? {} : { pathOverride }),
    ...(pathPrefix === undefined ? {} : { pathPrefix }),
  }
}

function readKey({ apiKey }: ModelParams, path: Path, ctx: BackendContext): string | undefined {
  if (apiKey === undefined) return undefined
  if ('inline' in apiKey) return apiKey.inline
  return ctx
    .readFile(apiKey.file, [...path, 'apiKey', 'file'])
    ?.toString('utf8')
    .trim()
}

/** The model's own fields take precedence over those of its provider entry. */
function mergedEdits(spec: ModelSpec, wide: ProviderEntrySpec['defaults']) {
  return {
    defaults: { ...wide?.defaults, ...spec.defaults },
    overrides: { ...wide?.overrides, ...spec.overrides },
    transformations: { ...wide?.transformation, ...spec.transformation },
  }
}

function compileMatches(matches: ModelSpec['matches']): (x: Exchange) => boolean {
  if (matches === undefined) return () => true
  const sets = matches.map(({ headers }) =>
    headers.map(({ name, value: { exact, regex } }) => ({ name: name.toLowerCase(), exact, regex })),
  )
  return x =>
    sets.some(headers =>
      headers.every(({ name, exact, regex }) => {
        const all = x.request.headers.getAll(name)
        if (all.length === 0) return false
        const value = all.join(',')
        return exact === undefined ? regex?.test(value) === true : value === exact
      }),
    )
}

import { PROVIDERS } from '../../../backends/ai/providers/index.ts'
import { PRESETS, type Preset } from '../../../backends/ai/providers/presets.ts'
import type { ProviderForm } from '../../../backends/ai/providers/provider.ts'
import { upper } from '../../../policies/parts/cluster-form.ts'
import { type ObjectProblem, opt, serverRule, urlText } from '../../../schema/builder.ts'
import { all, missing, problem } from '../../../schema/rules.ts'
import { longString, port, shortString } from '../../../schema/scalars.ts'

/** In the order of the specification; providers that it does not list come before `custom`. */
const ORDER = ['openai', 'azureopenai', 'azure', 'anthropic', 'gemini', 'vertexai', 'bedrock']
const rank = ({ member }: ProviderForm) =>
  ORDER.includes(member) ? ORDER.indexOf(member) : ORDER.length + (member === 'custom' ? 1 : 0)

/** Each form of a provider, with the standalone provider that it becomes. */
export const PROVIDER_FORMS: readonly (ProviderForm & { readonly key: string })[] = Object.values(PROVIDERS)
  .map((provider): { readonly key: string; readonly cluster?: readonly ProviderForm[] } => provider)
  .flatMap(({ key, cluster = [] }) => cluster.map(form => ({ ...form, key })))
  .toSorted((a, b) => rank(a) - rank(b))

const variants = Object.fromEntries(PROVIDER_FORMS.map(({ member, field }) => [member, field]))

function addressRules(value: Record<string, unknown>): readonly ObjectProblem[] {
  if (value.host !== undefined && value.port === undefined) return [missing('port', '`host` needs `port` beside it')]
  if (value.port !== undefined && value.host === undefined) return [missing('host', '`port` needs `host` beside it')]
  if (value.pathPrefix === undefined) return []
  const prefixed = value.openai ?? value.anthropic ?? value.custom
  if (!prefixed) {
    return [problem(['pathPrefix'], '`pathPrefix` is only for the providers `openai` and `anthropic`')]
  }
  return value.host === undefined && !value.custom ? [missing('host', '`pathPrefix` needs `host` beside it')] : []
}

function customRules(value: Record<string, unknown>): readonly ObjectProblem[] {
  const custom = value.custom as { backendRef?: unknown; formats: readonly { path?: string }[] } | undefined
  if (!custom) return []
  if (custom.backendRef && value.host !== undefined) {
    return [problem(['host'], '`host` cannot be combined with `custom.backendRef`: both say where the models are')]
  }
  if (!custom.backendRef && value.host === undefined) {
    if (value.port !== undefined) return []
    return [missing('host', 'a custom provider needs `host` and `port`, or `custom.backendRef`')]
  }
  if (!custom.formats.some(({ path }) => path !== undefined)) return []
  return ['path', 'pathPrefix']
    .filter(name => value[name] !== undefined)
    .map(name => problem([name], `\`${name}\` cannot be combined with a \`path\` in \`custom.formats\``))
}

/** A provider with its address: exactly one of the variants. */
export const providerFields = {
  ...variants,
  host: opt(shortString, 'The host, if not the provider’s.'),
  port: opt(port, 'The port.'),
  path: opt(urlText({ min: 1, max: 1024 }), 'Replaces the path of the provider’s API.'),
  pathPrefix: opt(longString, 'Replaces the base path of the provider’s API.'),
}
export const providerRules = {
  exactlyOneOf: [Object.keys(variants)],
  atMostOneOf: [['path', 'pathPrefix']],
  check: all(addressRules, customRules),
  rules: [
    serverRule('has(self.host) == has(self.port)', 'host and port need one another'),
    serverRule(
      '!has(self.pathPrefix) || has(self.custom) || ((has(self.openai) || has(self.anthropic)) && has(self.host))',
      'pathPrefix is only for openai and anthropic with host, and for custom',
    ),
    serverRule(
      '!has(self.custom) || has(self.custom.backendRef) != has(self.host)',
      'a custom provider needs host and port, or custom.backendRef, and not both',
    ),
    serverRule(
      '!has(self.custom) || !self.custom.formats.exists(f, has(f.path)) || (!has(self.path) && !has(self.pathPrefix))',
      'path and pathPrefix cannot be combined with a path in custom.formats',
    ),
  ],
}
/** Values for `provider` of a ProxyModel, with the standalone provider. */
export const MODEL_PROVIDERS: ReadonlyMap<string, string> = new Map([
  ...PROVIDER_FORMS.flatMap(({ name, key }) => (name === undefined || key === 'custom' ? [] : [[name, key] as const])),
  ...Object.entries(PRESETS).map(([key, preset]: [string, Preset]) => [preset.name ?? upper(key), key] as const),
  ['Custom', 'custom'],
])

/** Settings of a ProxyModel that belong to one provider only. */
export const MODEL_SETTINGS = PROVIDER_FORMS.flatMap(({ member, name, settings }) =>
  name !== undefined && settings ? [{ member, name, ...settings }] : [],
)
export const modelProviderFields = Object.fromEntries(MODEL_SETTINGS.map(({ member, field }) => [member, field]))

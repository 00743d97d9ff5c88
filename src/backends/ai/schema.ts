import { providerPolicyFields } from '../../policies/parts/provider-policies.ts'
import { boolean, def, type Infer, list, object, opt, req, type Schema, urlText } from '../../schema/builder.ts'
import { hostPort, sectionName } from '../../schema/scalars.ts'
import { PROVIDERS, type ProviderKey } from './providers/index.ts'

export const path = urlText({ min: 1, max: 1024, pattern: /^\//, form: 'a path that starts with `/`' })

type ProviderFields = {
  readonly [K in ProviderKey]: { schema: (typeof PROVIDERS)[K]['settings']; mode: 'optional'; doc: string }
}
const providerFields = Object.fromEntries(
  Object.values(PROVIDERS).map(provider => [provider.key, opt(provider.settings as Schema<unknown>, provider.doc)]),
) as unknown as ProviderFields

/** Exactly one provider with its settings. */
const providerChoice = object('provider', providerFields, { exactlyOneOf: [Object.keys(PROVIDERS)] })
export type ProviderChoice = Infer<typeof providerChoice>

/** Address fields beside the provider itself, shared by `ai` backends and models of the `llm` section. */
const addressFields = {
  hostOverride: opt(hostPort, "Address to call instead of the provider's own; plain HTTP unless TLS is configured."),
  pathOverride: opt(path, 'Path and query of every upstream request.'),
  pathPrefix: opt(path, "Base path in place of the provider's own, such as `/v1`."),
  tokenize: def(boolean, false, 'Count input tokens before the call.'),
} as const

const providerPolicies = object('provider policies', providerPolicyFields)

const providerEntry = {
  provider: req(providerChoice, 'The LLM provider.'),
  ...addressFields,
  policies: opt(providerPolicies, 'Policies for calls to this provider.'),
} as const

const named = object('named provider', { name: req(sectionName, 'Name of the provider.'), ...providerEntry })
export type NamedProvider = Infer<typeof named>
/** One provider at its address, with or without a name. */
export type ProviderEntry = Omit<NamedProvider, 'name'>

const group = object('provider group', {
  providers: req(list(named, { min: 1, max: 16 }), 'Providers that share the requests of the group, by their health.'),
})

/** `ai` of a route's or a named backend (spec "AI backend"). */
export const aiSchema = object(
  'AI backend',
  {
    name: opt(sectionName, 'Name of the provider.'),
    ...providerEntry,
    provider: opt(providerChoice, 'The LLM provider.'),
    groups: opt(list(group, { min: 1, max: 8 }), 'Providers in groups; a group is used when the ones before it fail.'),
  },
  { exactlyOneOf: [['provider', 'groups']], check: checkNames },
)
export type AiSpec = Infer<typeof aiSchema>

function checkNames(value: Record<string, unknown>) {
  const groups = (value.groups ?? []) as readonly { readonly providers: readonly NamedProvider[] }[]
  const seen = new Set<string>()
  return groups.flatMap(({ providers }, g) =>
    providers.flatMap(({ name }, p) => {
      if (!seen.has(name)) {
        seen.add(name)
        return []
      }
      return [
        {
          path: ['groups', g, 'providers', p, 'name'],
          at: 'value' as const,
          message: `two providers are called \`${name}\``,
          label: 'names are unique over all groups',
        },
      ]
    }),
  )
}

import type { Path } from '../../../diagnostics/diagnostic.ts'
import type { Lint, LintedFile } from '../lint.ts'
import { routesOf } from '../sites.ts'

/** Parameters specific to one cloud, by name prefix. */
const PARAMS = { aws: ['bedrock'], vertex: ['vertex'], azure: ['azure'] } as const
const IDENTITIES = { aws: ['bedrock'], gcp: ['vertex', 'gemini'], azure: ['azure'] } as const
/** Providers with a known API; the others may front any service. */
const KNOWN: readonly string[] = ['openAI', 'anthropic', 'gemini', 'vertex', 'bedrock', 'azure']

/** GW579: settings that the chosen provider ignores. */
export const foreignSettings: Lint = file => {
  const { models = [], providers = [] } = file.config.llm ?? {}
  for (const entry of [...models, ...providers]) {
    const { provider, params } = entry
    if (typeof provider !== 'string') continue
    // A custom address may belong to another cloud: Claude is served by AWS too.
    const ownAddress = params?.hostOverride === undefined && params?.baseUrl === undefined
    if (params && ownAddress) foreignParams(provider, params, file)
    if (!('auth' in entry)) continue
    if (ownAddress) foreignIdentity(provider, entry.auth, [...file.pathOf(entry), 'auth'], file)
    foreignCaching([provider], entry.promptCaching, file)
    twoKeys(params, entry.auth, file)
  }
  for (const { backends, policies } of routesOf(file.config)) {
    const used = backends.map(providerOf)
    for (const backend of backends) identityOf(backend, file)
    if (used.length > 0 && used.every(each => each !== undefined))
      foreignCaching(used, policies?.ai?.promptCaching, file)
  }
  for (const backend of file.config.backends) identityOf(backend, file)
}

interface AiBackend {
  readonly ai?: object | undefined
  readonly policies?: { readonly backendAuth?: unknown } | undefined
}

function providerOf({ ai }: AiBackend): string | undefined {
  return ai && 'provider' in ai && ai.provider ? Object.keys(ai.provider)[0] : undefined
}

function identityOf(backend: AiBackend, file: LintedFile): void {
  const provider = providerOf(backend)
  const { ai, policies } = backend
  if (provider === undefined || !policies || overridden(ai)) return
  foreignIdentity(provider, policies.backendAuth, [...file.pathOf(policies), 'backendAuth'], file)
}

function overridden(ai: object | undefined): boolean {
  return ai !== undefined && 'hostOverride' in ai && ai.hostOverride !== undefined
}

function foreignParams(provider: string, params: object, file: LintedFile): void {
  for (const name of Object.keys(params)) {
    const cloud = (['aws', 'vertex', 'azure'] as const).find(each => name.startsWith(each))
    if (cloud === undefined || (PARAMS[cloud] as readonly string[]).includes(provider)) continue
    report(file, [...file.pathOf(params), name], name, provider, PARAMS[cloud])
  }
}

function foreignIdentity(provider: string, auth: unknown, path: Path, file: LintedFile): void {
  if (typeof auth !== 'object' || auth === null || !KNOWN.includes(provider)) return
  for (const cloud of ['aws', 'gcp', 'azure'] as const) {
    if ((auth as Readonly<Record<string, unknown>>)[cloud] === undefined) continue
    if (!(IDENTITIES[cloud] as readonly string[]).includes(provider))
      report(file, [...path, cloud], cloud, provider, IDENTITIES[cloud])
  }
}

function foreignCaching(providers: readonly string[], caching: object | undefined, file: LintedFile): void {
  if (caching && !providers.some(each => each === 'bedrock' || !KNOWN.includes(each)))
    report(file, file.pathOf(caching), 'promptCaching', providers[0]!, ['bedrock'])
}

function twoKeys(params: { readonly apiKey?: unknown } | undefined, auth: unknown, file: LintedFile): void {
  if (!params || params.apiKey === undefined || typeof auth !== 'object' || auth === null) return
  file.report({
    code: 'GW546',
    message: 'the model has two credentials: `apiKey` in `params`, and `auth`',
    path: [...file.pathOf(params), 'apiKey'],
    at: 'key',
    label: 'one credential too many',
    help: 'remove one of them',
    related: [{ path: file.pathOf(auth), at: 'key', message: 'the other one' }],
  })
}

function report(file: LintedFile, path: Path, name: string, provider: string, readers: readonly string[]): void {
  file.report({
    code: 'GW579',
    message: `\`${name}\` is for ${readers.map(each => `\`${each}\``).join(' and ')}: \`${provider}\` does not read it`,
    path,
    at: 'key',
    label: 'of another provider',
    help: 'remove it, or correct `provider`',
  })
}

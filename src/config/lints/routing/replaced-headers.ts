import type { Path } from '../../../diagnostics/diagnostic.ts'
import type { Lint, LintedFile, Policies } from '../lint.ts'
import { routesOf } from '../sites.ts'

type BackendAuth = NonNullable<Policies['backendAuth']>

/** GW563: a header set by one policy and replaced by a later one. */
export const replacedHeaders: Lint = file => {
  for (const { policies } of file.sites) {
    if (policies.backendAuth) replacedCredential(policies, policies.backendAuth, file)
    replacedHost(policies, file)
  }
  for (const route of routesOf(file.config)) {
    const auth = route.backends.map(({ policies }) => policies?.backendAuth).find(each => each !== undefined)
    if (route.policies && auth && !route.policies.backendAuth) replacedCredential(route.policies, auth, file)
  }
}

/** Credentials are written last, so that nothing overrides them. */
function replacedCredential(policies: Policies, auth: BackendAuth, file: LintedFile): void {
  const places = credentialHeaders(auth)
  const written = writtenHeaders(policies, file).find(({ name }) => places.includes(name))
  if (!written) return
  file.report({
    code: 'GW563',
    message: `\`${written.name}\` is written here, and \`backendAuth\` replaces it with its own credential`,
    path: written.path,
    at: 'key',
    label: 'no backend sees it',
    help: 'remove one of them, or give `backendAuth` another `location`',
    ...(typeof auth === 'string'
      ? {}
      : { related: [{ path: file.pathOf(auth), at: 'key' as const, message: 'written last' }] }),
  })
}

/** Transformations come first, then header modifiers, then rewrites. */
function replacedHost(policies: Policies, file: LintedFile): void {
  const { urlRewrite } = policies
  const writers = writtenHeaders(policies, file).filter(({ name }) => name === 'host' || name === ':authority')
  const { authority } = urlRewrite ?? {}
  const whole = authority === 'auto' || (typeof authority === 'object' && authority.port === undefined)
  const last = urlRewrite && whole ? { path: [...file.pathOf(urlRewrite), 'authority'] } : writers.at(-1)
  for (const { name, path } of writers) {
    if (!last || path === last.path) continue
    file.report({
      code: 'GW563',
      message: `the host is written twice: \`${name}\` here is replaced by ${urlRewrite && whole ? '`urlRewrite.authority`' : '`requestHeaderModifier`'}`,
      path,
      at: 'key',
      label: 'no backend sees it',
      help: 'remove one of them',
      related: [{ path: last.path, at: 'key', message: 'written last' }],
    })
  }
}

interface WrittenHeader {
  /** In lower case. */
  readonly name: string
  readonly path: Path
}

/** In the order in which they are written. */
function writtenHeaders(policies: Policies, file: LintedFile): WrittenHeader[] {
  const { transformations, requestHeaderModifier } = policies
  return [transformations?.request, requestHeaderModifier].flatMap(changes =>
    (['add', 'set'] as const).flatMap(part => {
      const values = changes?.[part]
      return values === undefined
        ? []
        : Object.keys(values).map(name => ({ name: name.toLowerCase(), path: [...file.pathOf(values), name] }))
    }),
  )
}

/** In lower case. */
function credentialHeaders(auth: BackendAuth): string[] {
  if (typeof auth === 'string') return ['authorization']
  const { key, passthrough, jwtSign, credentials = [] } = auth
  const own = key ?? passthrough ?? jwtSign
  const location = typeof own === 'object' ? own?.location : undefined
  const places = credentials.map(each => each.location.header?.name)
  const only = [auth.key, auth.passthrough, auth.jwtSign, auth.gcp, auth.aws, auth.azure].some(
    each => each !== undefined,
  )
  const main = location ? location.header?.name : only ? 'authorization' : undefined
  return [main, ...places].filter(name => name !== undefined).map(name => name.toLowerCase())
}

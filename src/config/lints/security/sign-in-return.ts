import type { Lint, LintedFile, Policies } from '../lint.ts'
import { routesOf, takesPath } from '../sites.ts'

type Oidc = NonNullable<Policies['oidc']>

/** GW592: a sign-in whose callback no match of its route takes, or whose cookies can be read on the network path. */
export const signInReturn: Lint = file => {
  for (const { policies } of file.sites) if (policies.oidc) findPlainHttp(policies.oidc, file)
  for (const route of routesOf(file.config)) {
    const oidc = (route.policies as Policies | undefined)?.oidc
    if (oidc === undefined || takesPath(route, oidc.redirectURI.pathname)) continue
    file.report({
      code: 'GW592',
      message: `no match of this route takes \`${oidc.redirectURI.pathname}\`, where browsers come back to`,
      path: [...file.pathOf(oidc), 'redirectURI'],
      at: 'value',
      label: 'sign-ins never end',
      help: 'add a match for this path to the route, or choose a path below one that it has',
    })
  }
}

function findPlainHttp(oidc: Oidc, file: LintedFile): void {
  const { protocol, hostname } = oidc.redirectURI
  if (protocol === 'https:' || /^(localhost|.*\.localhost|127\..*|\[::1\])$/.test(hostname)) return
  file.report({
    code: 'GW592',
    message: 'sign-ins and their cookies travel unencrypted: `redirectURI` is plain HTTP',
    path: [...file.pathOf(oidc), 'redirectURI'],
    at: 'value',
    label: 'anyone on the network path can read them',
    help: 'write `https://`; plain HTTP is for development on one machine, `http://localhost`',
  })
}

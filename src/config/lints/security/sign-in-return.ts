import { policyNamed } from '../../../policies/index.ts'
import type { Step } from '../../snapshot.ts'
import type { Lint, LintedFile, Policies } from '../lint.ts'
import { mcpBackends, routesOf, takesPath } from '../sites.ts'

interface SignIn {
  readonly redirectURI: URL
}

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

function findPlainHttp(signIn: SignIn, file: LintedFile): void {
  const { protocol, hostname } = signIn.redirectURI
  if (protocol === 'https:' || /^(localhost|.*\.localhost|127\..*|\[::1\])$/.test(hostname)) return
  file.report({
    code: 'GW592',
    message: 'sign-ins and their cookies travel unencrypted: `redirectURI` is plain HTTP',
    path: [...file.pathOf(signIn), 'redirectURI'],
    at: 'value',
    label: 'anyone on the network path can read them',
    help: 'write `https://`; plain HTTP is for development on one machine, `http://localhost`',
  })
}

/** GW592 for the pages of MCP targets, which need a route that asks browsers for nothing that they do not have. */
export const targetSignInReturn: Lint = file => {
  const opened = file.snapshot.binds.flatMap(({ listeners }) =>
    listeners.flatMap(({ pipeline, routes: all }) => (asksPrograms(pipeline.request) ? [] : all)),
  )
  const served = (path: string) =>
    opened.some(
      ({ pipeline, matches, backends }) =>
        !asksPrograms(pipeline.request) &&
        takesPath({ matches }, path) &&
        backends.some(({ backend, delegates }) => delegates !== undefined || backend.signInPaths?.includes(path)),
    )
  for (const { targets } of mcpBackends(file.config)) {
    for (const { signIn } of targets) {
      if (!signIn) continue
      findPlainHttp(signIn, file)
      if (served(signIn.redirectURI.pathname)) continue
      file.report({
        code: 'GW592',
        message: `browsers cannot open \`${signIn.redirectURI.pathname}\`, where users sign in at this target`,
        path: [...file.pathOf(signIn), 'redirectURI'],
        at: 'value',
        label: 'no route to this backend takes it without a token or key',
        help: 'add a route for this exact path to the same named backend, with `oidc` or without authentication',
      })
    }
  }
}

function asksPrograms(steps: readonly Step[]): boolean {
  return steps.some(({ policy }) => ['token', 'key', 'password'].includes(policyNamed.get(policy)?.asksFor ?? ''))
}

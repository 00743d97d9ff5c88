import type { Lint } from '../lint.ts'

/** GW553: tokens that were issued for another audience are accepted. */
export const anyAudience: Lint = file => {
  for (const { policies } of file.sites) {
    const { jwtAuth } = policies
    if (!jwtAuth) continue
    for (const provider of jwtAuth.providers ?? [jwtAuth]) {
      if (provider.audiences !== undefined) continue
      file.report({
        code: 'GW553',
        message: 'tokens that the issuer has issued for other services are accepted',
        path: file.pathOf(provider),
        at: provider === jwtAuth ? 'key' : 'value',
        label: '`audiences` is not set',
        help: 'set `audiences` to the `aud` that the issuer writes for this gateway',
      })
    }
  }
}

import type { Lint, Policies } from '../lint.ts'

interface Idle {
  readonly path: readonly (string | number)[]
  readonly message: string
  readonly help: string
}

const CHECKS: { readonly [P in keyof Policies]?: (policy: NonNullable<Policies[P]>) => Idle | undefined } = {
  cors: ({ allowOrigins, allowCredentials }) => {
    const star = allowOrigins.indexOf('*')
    if (allowOrigins.length === 0)
      return { path: [], message: '`cors` lists no origins, so no page can read responses', help: 'set `allowOrigins`' }
    // With credentials, the wildcard is the mistake.
    return star < 0 || allowOrigins.length === 1 || allowCredentials
      ? undefined
      : {
          path: ['allowOrigins', star === 0 ? 1 : 0],
          message: '`*` beside it stands for every origin',
          help: 'remove it, or `*`',
        }
  },
  directResponse: policy => {
    if ('conditional' in policy) return undefined
    const { status, body } = policy as { readonly status?: number; readonly body?: string }
    return (status === 204 || status === 304) && body
      ? {
          path: ['body'],
          message: `a response with status ${status} has no body`,
          help: 'remove it, or answer with status 200',
        }
      : undefined
  },
  extProc: ({ processingOptions: options }) =>
    options?.requestHeaderMode === 'skip' &&
    options.responseHeaderMode === 'skip' &&
    options.requestBodyMode === 'none' &&
    options.responseBodyMode === 'none'
      ? {
          path: ['processingOptions'],
          message: 'the service is sent neither heads nor bodies: it is never asked',
          help: 'let it see one of them, or remove the policy',
        }
      : undefined,
}

/** GW546: policies that have no effect because of their own fields. */
export const idlePolicy: Lint = file => {
  for (const { policies } of file.sites) {
    for (const name of Object.keys(CHECKS) as (keyof typeof CHECKS)[]) {
      const policy = policies[name]
      const idle = policy && (CHECKS[name] as (policy: unknown) => Idle | undefined)(policy)
      if (!idle) continue
      file.report({
        code: 'GW546',
        message: idle.message,
        path: [...file.pathOf(policy as object), ...idle.path],
        at: typeof idle.path.at(-1) === 'number' ? 'value' : 'key',
        label: 'changes nothing',
        help: idle.help,
      })
    }
  }
}

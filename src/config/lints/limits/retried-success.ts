import type { Lint } from '../lint.ts'

/** GW565: successful calls are retried. */
export const retriedSuccess: Lint = file => {
  for (const { policies } of file.sites) {
    const { retry } = policies
    const at = retry?.codes.findIndex(code => code >= 200 && code < 300) ?? -1
    if (!retry || at < 0) continue
    file.report({
      code: 'GW565',
      message: `a reply with status ${retry.codes[at]} is a success, and the call is made again all the same`,
      path: [...file.pathOf(retry), 'codes', at],
      at: 'value',
      label: 'not a failure',
      help: 'name statuses that another call may change: 429, 502, 503, 504',
    })
  }
}

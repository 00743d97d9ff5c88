import type { Lint } from '../lint.ts'

/** GW518: the timeout leaves no time for a retry. */
export const pointlessRetry: Lint = file => {
  for (const { policies } of file.sites) {
    const { timeout, retry } = policies
    const { requestTimeout, backendRequestTimeout } = timeout ?? {}
    if (!timeout || !retry || !requestTimeout || !backendRequestTimeout || requestTimeout > backendRequestTimeout)
      continue
    file.report({
      code: 'GW518',
      message: 'a call that runs into its time limit leaves no time for a retry',
      path: [...file.pathOf(timeout), 'backendRequestTimeout'],
      at: 'value',
      label: 'as long as the whole request may take',
      help: `make it shorter than \`requestTimeout\`: for ${retry.attempts} more call${retry.attempts === 1 ? '' : 's'}, by at least a factor of ${retry.attempts + 1}`,
      related: [
        { path: [...file.pathOf(timeout), 'requestTimeout'], at: 'value', message: 'covers all calls together' },
      ],
    })
  }
}

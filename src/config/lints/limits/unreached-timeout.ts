import type { Lint } from '../lint.ts'

/** GW562: an inner timeout that the outer one always pre-empts. */
export const unreachedTimeout: Lint = file => {
  for (const { policies } of file.sites) {
    const { timeout, retry } = policies
    const { requestTimeout, backendRequestTimeout } = timeout ?? {}
    // With retries, GW518 is more specific.
    if (!timeout || retry || !requestTimeout || !backendRequestTimeout || backendRequestTimeout <= requestTimeout)
      continue
    file.report({
      code: 'GW562',
      message: '`backendRequestTimeout` is longer than `requestTimeout`, which always ends first',
      path: [...file.pathOf(timeout), 'backendRequestTimeout'],
      at: 'value',
      label: 'never reached',
      help: 'make it shorter, or remove it',
      related: [{ path: [...file.pathOf(timeout), 'requestTimeout'], at: 'value', message: 'ends the whole request' }],
    })
  }
}

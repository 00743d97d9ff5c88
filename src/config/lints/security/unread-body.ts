import type { Lint } from '../lint.ts'

/** GW542: a body limit under which every request body is refused. */
export const unreadBody: Lint = file => {
  for (const { policies } of file.sites) {
    const { extAuthz } = policies
    for (const entry of extAuthz ? [extAuthz, ...(extAuthz.conditional ?? [])] : []) {
      if (entry.includeRequestBody?.maxRequestBytes !== 0) continue
      file.report({
        code: 'GW542',
        message: 'requests with a body are refused: up to 0 bytes of it are sent',
        path: file.pathOf(entry.includeRequestBody),
        at: 'key',
        label: '`maxRequestBytes` is 0',
        help: 'set `maxRequestBytes`, `8192` for example',
      })
    }
  }
}

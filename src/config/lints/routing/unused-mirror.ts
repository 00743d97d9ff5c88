import type { Lint } from '../lint.ts'

/** GW535: a mirror that copies no requests. */
export const unusedMirror: Lint = file => {
  for (const { policies } of file.sites) {
    const mirror = policies.requestMirror
    if (mirror?.percentage !== 0) continue
    file.report({
      code: 'GW535',
      message: 'no request is copied',
      path: [...file.pathOf(mirror), 'percentage'],
      at: 'value',
      label: 'a share of 0',
      help: 'write the share of the requests: `0.1` for 10 %, `1` for all',
    })
  }
}

import type { Path } from '../../../diagnostics/diagnostic.ts'
import { sizeText } from '../../../diagnostics/size-text.ts'
import type { Lint } from '../lint.ts'

/** GW556: a body limit that the limit on all bodies together makes unreachable. */
export const bodyTotal: Lint = file => {
  const { total } = file.snapshot.bodies.limits
  const check = (bytes: number | undefined, path: Path): void => {
    if (bytes === undefined || bytes <= total) return
    file.report({
      code: 'GW556',
      message: `a body of ${sizeText(bytes)} is never held: all bodies together may take ${sizeText(total)}`,
      path,
      at: 'value',
      label: 'longer than what all bodies may take',
      help: 'lower it, or raise `frontendPolicies.http.maxBufferTotal`',
    })
  }
  const http = file.config.frontendPolicies?.http
  if (http) check(http.maxBufferSize, [...file.pathOf(http), 'maxBufferSize'])
  for (const { policies } of file.sites) {
    for (const side of [policies.buffer?.request, policies.buffer?.response]) {
      if (side) check(side.maxBytes, [...file.pathOf(side), 'maxBytes'])
    }
  }
}

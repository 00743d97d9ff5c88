import { sizeText } from '../../../diagnostics/size-text.ts'
import type { Lint } from '../lint.ts'

/** GW577: a route with a body limit above that of the gateway. */
export const ownBodyLimit: Lint = file => {
  const http = file.config.frontendPolicies?.http
  if (!http || file.textAt([...file.pathOf(http), 'maxBufferSize']) === '') return
  for (const { policies } of file.sites) {
    for (const side of [policies.buffer?.request, policies.buffer?.response]) {
      if (side?.maxBytes === undefined || side.maxBytes <= http.maxBufferSize) continue
      file.report({
        code: 'GW577',
        message: `\`buffer\` takes in ${sizeText(side.maxBytes)}, more than the ${sizeText(http.maxBufferSize)} that hold for the gateway`,
        path: [...file.pathOf(side), 'maxBytes'],
        at: 'value',
        label: "overrides the gateway's limit",
        help: 'remove it, so that `maxBufferSize` holds here too, or raise `maxBufferSize` when it is meant for all routes',
        related: [{ path: [...file.pathOf(http), 'maxBufferSize'], at: 'value', message: 'the limit of the gateway' }],
      })
    }
  }
}

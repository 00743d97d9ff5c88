// Adds, sets and removes response headers, also of replies that the gateway makes itself.
import type { Exchange } from '../http/exchange.ts'
import { compileHeaderChanges, headerChanges } from './parts/header-changes.ts'
import { definePolicy } from './policy.ts'

export const responseHeaderModifier = definePolicy({
  name: 'responseHeaderModifier',
  doc: 'Adds, sets and removes response headers, in that order.',
  attach: ['route', 'backend'],
  schema: headerChanges,
  compile(spec) {
    const change = compileHeaderChanges(spec)
    function modifyResponseHeaders(x: Exchange): void {
      if (x.response) change(x.response.headers)
    }
    return { response: modifyResponseHeaders }
  },
})

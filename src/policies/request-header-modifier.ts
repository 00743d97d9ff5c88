// Adds, sets and removes request headers; `host` is the authority, which can be set but not removed.
import type { Exchange } from '../http/exchange.ts'
import { compileHeaderChanges, headerChanges, hostChange } from './header-changes.ts'
import { definePolicy } from './policy.ts'

export const requestHeaderModifier = definePolicy({
  name: 'requestHeaderModifier',
  doc: 'Adds, sets and removes request headers, in that order. Setting `host` changes the authority.',
  attach: ['route', 'backend', 'target'],
  schema: headerChanges,
  compile(spec) {
    const change = compileHeaderChanges(spec)
    const authority = hostChange(spec)
    function modifyRequestHeaders(x: Exchange): undefined {
      change(x.request.headers)
    }
    function modifyRequestHeadersAndHost(x: Exchange): undefined {
      change(x.request.headers)
      x.request.authority = authority as string
      x.authorityFixed = true
    }
    return { request: authority === undefined ? modifyRequestHeaders : modifyRequestHeadersAndHost }
  },
})

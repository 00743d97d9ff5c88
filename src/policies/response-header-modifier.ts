// Adds, sets and removes response headers, including those of local replies.

import type { Exchange } from '../http/exchange.ts'
import { asFields } from '../schema/untyped.ts'
import { compileHeaderChanges, convertHeaderChanges, headerChanges } from './parts/header-changes.ts'
import { definePolicy } from './policy.ts'

export const responseHeaderModifier = definePolicy({
  name: 'responseHeaderModifier',
  doc: 'Adds, sets and removes response headers, in that order.',
  attach: ['route', 'backend'],
  schema: headerChanges,
  cluster: [
    {
      section: 'traffic',
      member: 'headerModifiers',
      convert: part => convertHeaderChanges(asFields(part.response)) ?? null,
    },
  ],
  compile(spec) {
    const change = compileHeaderChanges(spec)
    function modifyResponseHeaders(x: Exchange): void {
      if (x.response) change(x.response.headers)
    }
    return { response: modifyResponseHeaders }
  },
})

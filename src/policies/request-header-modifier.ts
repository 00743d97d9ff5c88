// Adds, sets and removes request headers; `host` is the authority, which can be set but not removed.

import { parseAuthority } from '../http/authority.ts'
import type { Exchange } from '../http/exchange.ts'
import { type ObjectProblem, object, opt } from '../schema/builder.ts'
import { asFields } from '../schema/untyped.ts'
import {
  compileHeaderChanges,
  convertHeaderChanges,
  type HeaderChanges,
  headerChangeFields,
  headerModifiersInCluster,
  hostChange,
} from './parts/header-changes.ts'
import { definePolicy } from './policy.ts'

const schema = object('header modifier', headerChangeFields, { check: hostIsAuthority })

export const requestHeaderModifier = definePolicy({
  name: 'requestHeaderModifier',
  doc: 'Adds, sets and removes request headers, in that order. Setting `host` changes the authority.',
  attach: ['route', 'backend', 'target'],
  schema,
  cluster: [
    {
      section: 'traffic',
      member: 'headerModifiers',
      field: opt(headerModifiersInCluster, 'Changes to header fields.'),
      convert: part => convertHeaderChanges(asFields(part.request)) ?? null,
    },
  ],
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

function hostIsAuthority(value: HeaderChanges): readonly ObjectProblem[] {
  const host = hostChange(value)
  if (host === undefined || parseAuthority(host)) return []
  const path = (['set', 'add'] as const).flatMap(part =>
    Object.keys(value[part] ?? {}).flatMap(name => (name.toLowerCase() === 'host' ? [[part, name]] : [])),
  )[0] as readonly string[]
  return [{ message: `\`${host}\` is not \`host\` or \`host:port\``, path, at: 'value' }]
}

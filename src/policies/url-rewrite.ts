// Changes the path and the authority that the upstream sees.

import type { Exchange } from '../http/exchange.ts'
import { object, oneOf, opt, req } from '../schema/builder.ts'
import { lower } from './parts/cluster-form.ts'
import { type AuthorityPart, authorityPart, compilePath, pathPart, withPort } from './parts/url-parts.ts'
import { definePolicy } from './policy.ts'

const schema = object('urlRewrite', {
  authority: opt(
    authorityPart,
    'The authority sent upstream; `auto` uses the upstream’s name, `none` keeps the client’s.',
  ),
  path: opt(pathPart, 'The path sent upstream.'),
})

const inCluster = object('host rewrite', {
  mode: req(oneOf(['Auto', 'None']), 'Whether the backend’s host name is sent.'),
})

export const urlRewrite = definePolicy({
  name: 'urlRewrite',
  doc: 'Changes the path and the authority that the upstream sees.',
  attach: ['route', 'backend'],
  schema,
  cluster: [
    {
      section: 'traffic',
      member: 'hostRewrite',
      field: opt(inCluster, 'Which host name the backend sees.'),
      convert: part => ({ authority: lower(part.mode) }),
    },
  ],
  compile(spec) {
    const newPath = compilePath(spec.path)
    const setAuthority = compileAuthority(spec.authority)
    function rewriteUrl(x: Exchange): undefined {
      x.request.path = newPath(x)
      setAuthority(x)
    }
    return { request: rewriteUrl }
  },
})

function compileAuthority(part: AuthorityPart | undefined): (x: Exchange) => void {
  if (part === undefined) return () => {}
  if (part === 'auto') {
    return x => {
      x.authorityFixed = false
    }
  }
  if (part === 'none') {
    return x => {
      x.authorityFixed = true
    }
  }
  const { port } = part
  const whole = part.full ?? part.host
  return x => {
    x.request.authority = whole ?? withPort(x.request.authority, port as number)
    x.authorityFixed = true
  }
}

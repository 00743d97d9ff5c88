import { cel, object, opt } from '../schema/builder.ts'
import { defineBackend } from './backend.ts'
import { refusing } from './refusing.ts'

export const dynamicBackend = defineBackend({
  kind: 'dynamic',
  doc: 'A forward proxy: the destination comes from the request.',
  unserved: 'The forward proxy is not served yet. Use `host` for each destination.',
  schema: object('dynamic backend', {
    target: opt(cel('request', 'string'), 'Gives `host:port`; the authority of the request when unset.'),
  }),
  compile: (_spec, ctx) => refusing('dynamic', ctx),
})

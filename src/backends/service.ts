import { serviceReference } from '../policies/upstream/policy-target.ts'
import { defineBackend } from './backend.ts'
import { refusing } from './refusing.ts'

export const serviceBackend = defineBackend({
  kind: 'service',
  doc: 'A service of this file, `namespace/hostname`, and its port.',
  unserved: 'Services are not resolved yet. Use `host` with the address of the service.',
  schema: serviceReference,
  compile: (_spec, ctx) => refusing('service', ctx),
})

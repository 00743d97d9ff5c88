import { string } from '../schema/builder.ts'
import { defineBackend } from './backend.ts'
import { refusing } from './refusing.ts'

export const routeGroupBackend = defineBackend({
  kind: 'routeGroup',
  doc: 'The name of a route group, whose routes are matched next.',
  unserved: 'Delegation to route groups is not served yet. Write the routes of the group into the listener.',
  schema: string({ min: 1 }),
  compile: (_spec, ctx) => refusing('routeGroup', ctx),
})

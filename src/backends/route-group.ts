import { string } from '../schema/builder.ts'
import { defineBackend } from './backend.ts'
import { refusing } from './refusing.ts'

export const routeGroupBackend = defineBackend({
  kind: 'routeGroup',
  doc: 'The name of a route group, whose routes are matched next.',
  schema: string({ min: 1 }),
  // Never called: a request proceeds to a route of the group.
  compile: (_spec, ctx) => refusing('routeGroup', ctx),
})

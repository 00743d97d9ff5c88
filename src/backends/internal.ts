import { string } from '../schema/builder.ts'
import { defineBackend } from './backend.ts'
import { refusing } from './refusing.ts'

export const internalBackend = defineBackend({
  kind: 'internal',
  doc: 'A service inside the gateway: `forward`, or the path of a built-in one.',
  unserved: 'Built-in services are reached over the admin address only.',
  schema: string({ min: 1 }),
  compile: (_spec, ctx) => refusing('internal', ctx),
})

import { nothing } from '../schema/builder.ts'
import { defineBackend } from './backend.ts'
import { refusing } from './refusing.ts'

export const invalidBackend = defineBackend({
  kind: 'invalid',
  doc: 'A backend that does not exist: requests are answered with 500.',
  schema: nothing,
  compile: (_spec, ctx) => refusing('invalid', ctx),
})

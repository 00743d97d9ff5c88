import { object } from '../../schema/builder.ts'
import { definePolicy } from '../policy.ts'

export const a2a = definePolicy({
  name: 'a2a',
  doc: 'The backend speaks A2A.',
  attach: ['route', 'backend'],
  perBackend: true,
  schema: object('A2A settings', {}),
  compile: () => ({}),
})

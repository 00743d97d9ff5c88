import { definePolicy } from '../policy.ts'
import { backendTunnelDeclaration } from './policy-target.ts'

export const backendTunnel = definePolicy({
  ...backendTunnelDeclaration,
  attach: ['route', 'backend', 'target'],
  perBackend: true,
  compile: () => ({}),
})

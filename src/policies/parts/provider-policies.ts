import { opt } from '../../schema/builder.ts'
import { ai } from '../ai.ts'
import { health } from '../upstream/health.ts'
import { targetPolicyFields } from '../upstream/policy-target.ts'

/** Policies allowed on one provider of an AI backend. */
export const providerPolicyFields = {
  ...targetPolicyFields,
  ai: opt(ai.schema, ai.doc),
  health: opt(health.schema, health.doc),
}

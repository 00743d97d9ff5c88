import { object, opt } from '../../../schema/builder.ts'
import { aiPolicies } from './ai-sections.ts'
import { backendAuth } from './backend-auth.ts'
import { connectionSections, responseSections } from './backend-sections.ts'
import { backendExtAuth } from './external-policies.ts'
import { mcpPolicies } from './mcp-sections.ts'

const simple = { ...connectionSections, auth: opt(backendAuth, 'How the gateway proves who it is.') }
const withAi = { ...simple, ...responseSections, ai: opt(aiPolicies, 'LLM policies; for AI backends.') }
const full = {
  ...withAi,
  mcp: opt(mcpPolicies, 'MCP policies; for MCP backends.'),
  extAuth: opt(backendExtAuth, 'A service that decides about each request to the backend.'),
}

/** For MCP targets. */
export const backendSimple = object('backend policies', simple)
/** For named LLM providers. */
export const backendWithAi = object('backend policies', withAi, { atLeastOneOf: [Object.keys(withAi)] })
/** For ProxyBackend and ProxyPolicy. */
export const backendFull = object('backend policies', full, { atLeastOneOf: [Object.keys(full)] })

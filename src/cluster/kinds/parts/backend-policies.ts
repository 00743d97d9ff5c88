import { object, opt } from '../../../schema/builder.ts'
import { fieldsOf } from './members.ts'

const mcpFields = fieldsOf('mcp')
const mcpPolicies = object('MCP policies', mcpFields, { atLeastOneOf: [Object.keys(mcpFields)] })

const withAi = fieldsOf('backend', 'provider')
const full = { ...withAi, mcp: opt(mcpPolicies, 'MCP policies; for MCP backends.'), ...fieldsOf('backend') }

/** For MCP targets. */
export const backendSimple = object('backend policies', fieldsOf('backend', 'target'))
/** For named LLM providers. */
export const backendWithAi = object('backend policies', withAi, { atLeastOneOf: [Object.keys(withAi)] })
/** For ProxyBackend and ProxyPolicy. */
export const backendFull = object('backend policies', full, { atLeastOneOf: [Object.keys(full)] })

import { mcpBackendSchema } from '../../backends/mcp/schema.ts'
import { routePolicyFields } from '../../policies/index.ts'
import { object, opt } from '../../schema/builder.ts'
import { port } from '../../schema/scalars.ts'
import { gatewayRefs } from './route-section.ts'

const { fields, check } = mcpBackendSchema.node

/** `mcp`: MCP servers behind one endpoint. */
export const mcpSection = object(
  'MCP section',
  {
    gateways: opt(gatewayRefs, 'Gateways (`gw`) or listeners (`gw/listener`) that serve the endpoint.'),
    port: opt(port, 'Its own port; 3000 when unset and no gateway is named `default`.'),
    ...fields,
    policies: opt(object('MCP section policies', routePolicyFields), 'Policies for the requests of the section.'),
  },
  check ? { check } : {},
)

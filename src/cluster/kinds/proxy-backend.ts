import {
  def,
  list,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  req,
  serverRule,
  string,
  urlText,
} from '../../schema/builder.ts'
import { localServiceRef } from '../../schema/resource-references.ts'
import { empty, subdomain } from '../../schema/resource-scalars.ts'
import { missing, problem } from '../../schema/rules.ts'
import { port, shortString } from '../../schema/scalars.ts'
import { backendFull, backendSimple, backendWithAi } from './parts/backend-policies.ts'
import { providerFields, providerRules } from './parts/llm-provider.ts'
import { conditionColumn, conditions, defineKind, labelSelector } from './resource.ts'

const address = { host: req(shortString, 'The host name or IP address.'), port: req(port, 'The port.') }

function staticAddress(value: Record<string, unknown>): readonly ObjectProblem[] {
  if (value.unixPath === undefined) {
    return ['host', 'port']
      .filter(name => value[name] === undefined)
      .map(name => missing(name, `static backend lacks the required field \`${name}\``))
  }
  return ['host', 'port']
    .filter(name => value[name] !== undefined)
    .map(name => problem([name], `\`${name}\` cannot be combined with \`unixPath\``))
}
const staticBackend = object(
  'static backend',
  {
    host: opt(shortString, 'The host name, IP address or path of a Unix socket.'),
    port: opt(port, 'The port.'),
    unixPath: opt(string({ min: 1 }), 'The path of a Unix socket, in place of host and port.'),
  },
  {
    check: staticAddress,
    rules: [
      serverRule(
        'has(self.unixPath) ? !has(self.host) && !has(self.port) : has(self.host) && has(self.port)',
        'host and port must be set, or unixPath alone',
      ),
    ],
  },
)

const selector = object(
  'target selector',
  {
    namespaces: opt(labelSelector, 'Namespaces to search; the backend’s own when unset.'),
    services: opt(labelSelector, 'Services to take.'),
  },
  { atLeastOneOf: [['namespaces', 'services']] },
)
const staticTarget = object(
  'static MCP target',
  {
    host: opt(shortString, 'The host name or IP address.'),
    backendRef: opt(localServiceRef, 'A Service in place of the host.'),
    port: req(port, 'The port.'),
    path: opt(urlText({ min: 1, max: 1024 }), 'The path; `/sse` for SSE and `/mcp` for StreamableHTTP when unset.'),
    protocol: opt(oneOf(['StreamableHTTP', 'SSE']), 'The MCP transport.'),
    policies: opt(backendSimple, 'How the target is connected to.'),
  },
  {
    exactlyOneOf: [['host', 'backendRef']],
    check: value =>
      value.backendRef && value.policies
        ? [problem(['policies'], '`policies` is only for targets with `host`, not with `backendRef`')]
        : [],
    rules: [serverRule('!has(self.backendRef) || !has(self.policies)', 'policies is only for targets with host')],
  },
)
const mcpTarget = object(
  'MCP target',
  {
    name: req(subdomain, 'The name; policies can target it.'),
    selector: opt(selector, 'Services that are MCP servers.'),
    static: opt(staticTarget, 'One MCP server.'),
  },
  { exactlyOneOf: [['selector', 'static']] },
)
const mcp = object('MCP backend', {
  targets: req(list(mcpTarget, { min: 1, max: 32, unique: ['name'] }), 'The MCP servers behind the backend.'),
  sessionRouting: def(oneOf(['Stateful', 'Stateless']), 'Stateful', 'Whether a session stays with one replica.'),
  failureMode: def(oneOf(['FailClosed', 'FailOpen']), 'FailClosed', 'How a failed target affects the session.'),
  prefixMode: def(
    oneOf(['Conditional', 'Always', 'Never']),
    'Conditional',
    'When names are prefixed with the target’s name.',
  ),
})

const namedProvider = object(
  'LLM provider',
  {
    name: req(subdomain, 'The name; policies can target it.'),
    ...providerFields,
    policies: opt(backendWithAi, 'How the provider is connected to.'),
  },
  providerRules,
)
const group = object('provider group', {
  providers: req(list(namedProvider, { min: 1, max: 16 }), 'Providers of equal rank.'),
})

interface Group {
  readonly providers: readonly { readonly name: string }[]
}
/** Policies target a provider by name alone, so names are unique within the whole backend. */
function providerNamesDiffer(value: Record<string, unknown>): readonly ObjectProblem[] {
  const seen = new Set<string>()
  const problems: ObjectProblem[] = []
  for (const [g, { providers }] of ((value.groups ?? []) as readonly Group[]).entries()) {
    for (const [p, { name }] of providers.entries()) {
      if (seen.has(name)) {
        const message = `two providers are named \`${name}\`: names are unique across all groups`
        problems.push({ path: ['groups', g, 'providers', p, 'name'], at: 'value', code: 'GW114', message })
      }
      seen.add(name)
    }
  }
  return problems
}
const ai = object(
  'AI backend',
  {
    provider: opt(object('LLM provider', providerFields, providerRules), 'One LLM provider.'),
    groups: opt(list(group, { min: 1, max: 8 }), 'Groups of providers, in order of preference.'),
  },
  {
    exactlyOneOf: [['provider', 'groups']],
    check: providerNamesDiffer,
    rules: [
      serverRule(
        '!has(self.groups) || self.groups.all(g, g.providers.all(p, self.groups.map(h, h.providers.filter(q, q.name == p.name).size()).sum() == 1))',
        'provider names must be unique across all groups',
      ),
    ],
  },
)

const aws = object(
  'AWS backend',
  {
    agentCore: opt(
      object('agent runtime', {
        agentRuntimeArn: req(string({ min: 1 }), 'The ARN of the runtime.'),
        qualifier: opt(string(), 'Its alias or version.'),
      }),
      'An agent runtime.',
    ),
  },
  { exactlyOneOf: [['agentCore']] },
)

function policiesFitBackend(value: Record<string, unknown>): readonly ObjectProblem[] {
  const policies = (value.policies ?? {}) as Record<string, unknown>
  return ['ai', 'mcp']
    .filter(name => policies[name] !== undefined && value[name] === undefined)
    .map(name => problem(['policies', name], `\`policies.${name}\` is only for backends with \`${name}\``))
}
const spec = object(
  'backend',
  {
    static: opt(staticBackend, 'One fixed address.'),
    ai: opt(ai, 'LLM providers.'),
    mcp: opt(mcp, 'MCP servers behind one endpoint.'),
    dynamicForwardProxy: opt(
      empty('dynamic forward proxy'),
      'The destination in the request’s Host; restrict access to it.',
    ),
    aws: opt(aws, 'Cloud agent runtimes.'),
    a2a: opt(object('A2A backend', address), 'An A2A agent.'),
    policies: opt(backendFull, 'How the backend is connected to; takes precedence over a ProxyPolicy.'),
  },
  {
    exactlyOneOf: [['static', 'ai', 'mcp', 'dynamicForwardProxy', 'aws', 'a2a']],
    check: policiesFitBackend,
    rules: ['ai', 'mcp'].map(name =>
      serverRule(
        `!has(self.policies) || !has(self.policies.${name}) || has(self.${name})`,
        `policies.${name} is only for backends with ${name}`,
      ),
    ),
  },
)

export const proxyBackend = defineKind(
  {
    kind: 'ProxyBackend',
    group: 'agentgateway.dev',
    versions: ['v1alpha1'],
    own: {
      alias: 'AgentgatewayBackend',
      aliasGroup: 'agentgateway.dev',
      short: 'pxbe',
      aliasShort: 'agbe',
      columns: [conditionColumn('Accepted', '.status.conditions')],
      attaches: false,
    },
    namespaced: true,
  },
  {
    spec: req(spec, 'Where requests go.'),
    status: opt(
      object('backend status', { conditions: opt(conditions(), 'The conditions.') }),
      'Written by the controller.',
    ),
  },
)

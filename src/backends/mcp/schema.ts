import { targetPolicies } from '../../policies/upstream/policy-target.ts'
import {
  argument,
  boolean,
  def,
  type Infer,
  list,
  map,
  type ObjectProblem,
  object,
  oneOf,
  opt,
  req,
  secret,
  shapes,
  string,
  urlText,
} from '../../schema/builder.ts'
import { withoutSecrets } from '../../schema/conceal-in-url.ts'
import { port, url } from '../../schema/scalars.ts'
import { signInSchema } from './sign-in/schema.ts'

const host = urlText({ min: 1, max: 256 })

const endpointFields = (path: string, withoutPath: string) =>
  ({
    host: opt(host, `URL of the endpoint, or a host name beside \`port\`. ${withoutPath}`),
    port: opt(port, 'Port, when `host` is a bare host name.'),
    path: opt(urlText({ min: 1, max: 1024 }), path),
    backend: opt(
      string({ min: 1, max: 256 }),
      'A named backend, `/name`, of kind `host` or a service: its address, TLS, credentials and policies.',
    ),
  }) as const

const httpEndpoint = (name: string, defaultPath: string) =>
  object(
    name,
    endpointFields(
      `Path; \`${defaultPath}\` when unset. Required beside \`backend\`.`,
      `A URL without a path gets \`${defaultPath}\`.`,
    ),
    { exactlyOneOf: [['host', 'backend']], check: checkEndpoint, textMeans: 'host' },
  )

const openapi = object(
  'OpenAPI target',
  {
    schema: req(
      shapes({
        string: string({ min: 2, max: 4 * 1024 * 1024 }),
        object: object(
          'OpenAPI document',
          {
            file: opt(string({ min: 1 }), 'Path, relative to the configuration file.'),
            url: opt(url(), 'Address; fetched when the first client asks, and again every five minutes.'),
          },
          { exactlyOneOf: [['file', 'url']] },
        ),
      }),
      'The OpenAPI 3 document, JSON or YAML: its text, or `file` or `url` of it. Each operation becomes a tool.',
    ),
    ...endpointFields(
      'Prefix of the paths in the document; the path of its first server when unset.',
      'The path of a URL is prepended to the paths of the document.',
    ),
  },
  { exactlyOneOf: [['host', 'backend']], check: checkAddress },
)

const stdio = object(
  'stdio server',
  {
    cmd: req(string({ min: 1 }), 'The program; one process per session.'),
    args: def(list(argument()), [], 'Its arguments.'),
    env: def(map(secret({ min: 0 })), {}, 'Environment variables in addition to those of the gateway.'),
    clear_env: def(boolean, false, 'The process sees only the variables of `env`.'),
  },
  { textMeans: 'cmd' },
)

/** Names prefix tool names and URIs, separated by `_` and `+`. */
const mcpTargetSchema = object(
  'MCP target',
  {
    name: req(
      string({
        min: 1,
        max: 253,
        pattern: /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/,
        form: 'a name of lower-case letters, digits, `-` and `.`',
      }),
      'Name of the target; with several targets, it prefixes the names of their items.',
    ),
    mcp: opt(httpEndpoint('MCP endpoint', '/mcp'), 'A server that speaks Streamable HTTP.'),
    sse: opt(httpEndpoint('SSE endpoint', '/sse'), 'A server that speaks the older HTTP+SSE.'),
    stdio: opt(stdio, 'A program that speaks MCP on its standard input and output.'),
    openapi: opt(openapi, 'An HTTP API that OpenAPI describes: its operations are the tools.'),
    signIn: opt(signInSchema, 'Each user signs in at this target, and calls carry the token of whoever makes them.'),
    policies: opt(targetPolicies, 'How this target is called: authentication, TLS, headers.'),
  },
  {
    exactlyOneOf: [['mcp', 'sse', 'stdio', 'openapi']],
    check: checkTarget,
    instead: {
      ...Object.fromEntries(['url', 'host', 'endpoint'].map(key => [key, 'write `mcp: {host: https://…}`'])),
      ...Object.fromEntries(
        ['cmd', 'command', 'args', 'env'].map(key => [key, 'write `stdio: {cmd: …, args: […], env: {…}}`']),
      ),
    },
  },
)

export const mcpBackendSchema = object(
  'MCP backend',
  {
    targets: req(list(mcpTargetSchema, { min: 1, max: 32, isolate: true }), 'The MCP servers behind this endpoint.'),
    statefulMode: def(
      oneOf(['stateful', 'stateless'], { Stateful: 'stateful', Stateless: 'stateless' }),
      'stateful',
      'Whether clients have sessions; without them, every request is independent.',
    ),
    prefixMode: def(
      oneOf(['conditional', 'always', 'never'], { Conditional: 'conditional', Always: 'always', Never: 'never' }),
      'conditional',
      'When names of tools and prompts are prefixed with their target: with several targets, always or never.',
    ),
    failureMode: def(
      oneOf(['failClosed', 'failOpen'], { FailClosed: 'failClosed', FailOpen: 'failOpen' }),
      'failClosed',
      'Whether one failing target ends the session, or the others continue without it.',
    ),
    toolLock: opt(
      string({ min: 1 }),
      'Path of a tool lock, relative to the configuration file: tools that differ from what was reviewed are refused, hidden or reported. `gwctl mcp lock` writes it.',
    ),
    dnsRebindingProtection: def(boolean, false, 'Refuses requests whose `Host` or `Origin` is not this machine.'),
  },
  { check: checkNames },
)

export type OpenApiSpec = Infer<typeof openapi>
export type McpTargetSpec = Infer<typeof mcpTargetSchema>
export type McpBackendSpec = Infer<typeof mcpBackendSchema>

function checkEndpoint(value: Record<string, unknown>): readonly ObjectProblem[] {
  const { path, backend } = value
  return backend !== undefined && path === undefined
    ? [{ path: [], at: 'value', message: '`path` is required beside `backend`', help: 'add `path: /mcp`' }]
    : checkAddress(value)
}

function checkAddress({ host: where, port: number }: Record<string, unknown>): readonly ObjectProblem[] {
  if (typeof where !== 'string') return []
  const address = endpointUrl(where)
  if (address === undefined) {
    return [
      {
        path: ['host'],
        at: 'value',
        message: `\`${withoutSecrets(where).slice(0, 64)}\` is neither a URL nor a host name`,
        help: 'write `http://localhost:8000/mcp`',
      },
    ]
  }
  if (number !== undefined && (where.includes('://') || address.port !== '')) {
    return [{ path: ['port'], at: 'key', message: '`port` stands beside a bare host name only' }]
  }
  return []
}

/** Undefined unless `text` is the URL of an HTTP endpoint. */
export function endpointUrl(text: string): URL | undefined {
  const parsed = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (!parsed || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')) return undefined
  const { hostname, username, password, hash } = parsed
  return hostname === '' || username !== '' || password !== '' || hash !== '' ? undefined : parsed
}

function checkTarget(value: Record<string, unknown>): readonly ObjectProblem[] {
  if (value.signIn !== undefined && value.mcp === undefined) {
    return [
      { path: ['signIn'], at: 'key', message: '`signIn` needs a server that speaks Streamable HTTP, an `mcp` target' },
    ]
  }
  if (value.policies === undefined) return []
  if (value.stdio !== undefined) {
    return [{ path: ['policies'], at: 'key', message: 'a stdio target takes no `policies`: nothing is sent over HTTP' }]
  }
  const endpoint = (value.mcp ?? value.sse ?? value.openapi) as { backend?: unknown } | undefined
  return endpoint?.backend === undefined
    ? []
    : [{ path: ['policies'], at: 'key', message: 'set the policies on the named backend' }]
}

function checkNames(value: Record<string, unknown>): readonly ObjectProblem[] {
  const seen = new Set<string>()
  const problems: ObjectProblem[] = []
  for (const [i, target] of ((value.targets ?? []) as readonly McpTargetSpec[]).entries()) {
    if (seen.has(target.name)) {
      problems.push({ path: ['targets', i, 'name'], at: 'value', message: `two targets are named \`${target.name}\`` })
    }
    seen.add(target.name)
  }
  return problems
}

import type { CelScope } from '../schema/builder.ts'

/**
 * Every variable available to expressions: the checker's types, the suggestions for misspelt names, and the reference
 * text all derive from this table.
 */
export type VariableType =
  | 'string'
  | 'int'
  | 'double'
  | 'bool'
  | 'bytes'
  | 'duration'
  | 'timestamp'
  | 'strings'
  /** Anything: claims, metadata, header fields, JSON. */
  | 'dyn'
  | Readonly<Record<string, VariableField>>
export interface VariableField {
  readonly type: VariableType
  readonly doc: string
  /** Restricts the variable's own scopes. */
  readonly scopes?: readonly CelScope[]
}
export interface Variable extends VariableField {
  readonly name: string
  readonly scopes: readonly CelScope[]
}

const HTTP: readonly CelScope[] = ['request', 'llmRequest', 'mcp', 'response', 'usage', 'log']
/** All scopes. */
export const SCOPES: readonly CelScope[] = ['connection', 'target', ...HTTP]
const AFTER: readonly CelScope[] = ['response', 'usage', 'log']
const LOG: readonly CelScope[] = ['log']

const field = (type: VariableType, doc: string, scopes?: readonly CelScope[]): VariableField =>
  scopes ? { type, doc, scopes } : { type, doc }
const variable = (name: string, scopes: readonly CelScope[], type: VariableType, doc: string): Variable => ({
  name,
  scopes,
  type,
  doc,
})

const named = {
  namespace: field('string', 'Its namespace.'),
  name: field('string', 'Its name.'),
}
const target = {
  name: field('string', 'Name at the target, without the target prefix.'),
  target: field('string', 'The MCP target that serves it.'),
}
const headers = field(
  'dyn',
  'Header fields by lower-case name: a string for one entry, a list for several. `.join()`, `.raw()` and `.split()` ' +
    'fix the shape, `.redacted()` hides credentials, `.cookie(name)` reads one cookie.',
)
const rates = {
  input: field('double', 'For input tokens.'),
  output: field('double', 'For output tokens.'),
  cacheRead: field('double', 'For input tokens read from a cache.'),
  cacheWrite: field('double', 'For input tokens written to a cache.'),
  reasoning: field('double', 'For reasoning tokens.'),
  inputAudio: field('double', 'For audio input tokens.'),
  outputAudio: field('double', 'For audio output tokens.'),
}
const workload = {
  name: field('string', 'Pod name.'),
  namespace: field('string', 'Pod namespace.'),
  serviceAccount: field('string', 'Service account.'),
}

export const VARIABLES: readonly Variable[] = [
  variable(
    'request',
    HTTP,
    {
      method: field('string', 'The method: `GET`.'),
      uri: field('string', 'The absolute URI. `.query(name)`, `.addQuery(name, value)`, `.setQuery(name, value)`.'),
      host: field('string', 'The authority: host, with the port if the client gave one.'),
      scheme: field('string', '`http` or `https`.'),
      path: field('string', 'The path, without the query.'),
      pathAndQuery: field('string', 'Path and query as sent. Takes the same methods as `uri`.'),
      version: field('string', '`HTTP/1.0`, `HTTP/1.1` or `HTTP/2.0`.'),
      headers,
      body: field(
        'bytes',
        'The body. Using it buffers the body. A body above the buffer limit is not read: guards then fail, and other expressions see it as absent.',
      ),
      bodyPrefix: field('bytes', 'The body up to the buffer limit.'),
      startTime: field('timestamp', 'When the request began.'),
      endTime: field('timestamp', 'When the response was complete.', LOG),
    },
    'The HTTP request.',
  ),
  variable(
    'response',
    ['response', 'log'],
    {
      code: field('int', 'The status code.'),
      grpcStatus: field('int', 'The gRPC status, from header or trailer; absent for other responses.'),
      headers,
      body: field('bytes', 'The body. Using it buffers the body; absent when it is larger than the buffer limit.'),
      bodyPrefix: field('bytes', 'The body up to the buffer limit.'),
    },
    'The HTTP response.',
  ),
  variable(
    'proxy',
    HTTP,
    {
      bind: field('string', 'The bind that accepted the connection.'),
      gateway: field(named, 'The gateway.'),
      listener: field({ name: named.name }, 'The listener.'),
      route: field(
        {
          ...named,
          kind: field('string', 'The kind of resource it was declared in.'),
          rule: field('string', 'The name of the rule.'),
        },
        'The route; absent until one is chosen.',
      ),
      requestProcessingDuration: field('duration', 'Time before the first upstream call.', AFTER),
      upstreamDuration: field('duration', 'Time spent in upstream calls.', AFTER),
      responseProcessingDuration: field('duration', 'Time after the upstream answered.', AFTER),
    },
    'The configuration objects that handled the request.',
  ),
  variable(
    'env',
    HTTP,
    {
      podName: field('string', 'The pod that runs the gateway.'),
      namespace: field('string', 'Its namespace.'),
      gateway: field('string', 'The Gateway it serves.'),
    },
    'Where the gateway runs, without environment variables.',
  ),
  variable(
    'jwt',
    HTTP,
    'dyn',
    'The verified claims. `jwt.rawToken` prints as `<redacted>`; `.unredacted()` reveals it.',
  ),
  variable(
    'apiKey',
    HTTP,
    'dyn',
    'The metadata of the API key. `apiKey.key` prints as `<redacted>`; `.unredacted()` reveals it.',
  ),
  variable('basicAuth', HTTP, { username: field('string', 'The authenticated user.') }, 'HTTP basic authentication.'),
  variable(
    'llm',
    ['response', 'usage', 'log'],
    {
      streaming: field('bool', 'Whether the response is a stream.'),
      requestModel: field('string', 'The requested model.'),
      responseModel: field('string', 'The model that responded.'),
      provider: field('string', 'The provider.'),
      inputTokens: field('int', 'Input tokens, cached ones included.'),
      providerInputTokens: field('int', 'Input tokens as reported by the provider.'),
      inputImageTokens: field('int', 'Image tokens of the input.'),
      inputTextTokens: field('int', 'Text tokens of the input, if counted separately.'),
      inputAudioTokens: field('int', 'Audio tokens of the input.'),
      cachedInputTokens: field('int', 'Input tokens read from a cache.'),
      cacheCreationInputTokens: field('int', 'Input tokens written to a cache.'),
      outputTokens: field('int', 'Output tokens.'),
      outputImageTokens: field('int', 'Image tokens of the output.'),
      outputTextTokens: field('int', 'Text tokens of the output, if counted separately.'),
      outputAudioTokens: field('int', 'Audio tokens of the output.'),
      reasoningTokens: field('int', 'Reasoning tokens.'),
      totalTokens: field('int', 'Input and output tokens.'),
      providerTotalTokens: field('int', 'The total as reported by the provider.'),
      countTokens: field('int', 'The result of a token counting call.'),
      serviceTier: field('string', 'The service tier that served the request.'),
      timeToFirstToken: field('duration', 'From the start of the upstream call to its first content.'),
      timePerOutputToken: field('duration', 'Average time between output tokens.'),
      prompt: field('dyn', 'The messages: a list of `{role, content}`.'),
      completion: field('dyn', 'The responses: a list of strings.'),
      toolCalls: field('dyn', 'The tool calls of the response: a list of `{id, name, arguments}`.'),
      params: field(
        {
          temperature: field('double', 'Sampling temperature.'),
          top_p: field('double', 'Nucleus sampling.'),
          frequency_penalty: field('double', 'Frequency penalty.'),
          presence_penalty: field('double', 'Presence penalty.'),
          seed: field('int', 'Seed.'),
          max_tokens: field('int', 'Maximum number of output tokens.'),
          encoding_format: field('string', 'Encoding of embeddings.'),
          dimensions: field('int', 'Dimensions of embeddings.'),
        },
        'Parameters of the request.',
      ),
      cost: field({ total: field('double', 'The sum.'), ...rates }, 'Cost of the request, if prices are known.'),
      costRates: field(rates, 'The prices used.'),
    },
    'The call to a language model.',
  ),
  variable('llmRequest', ['llmRequest'], 'dyn', 'The parsed request body as received, while LLM policies run.'),
  variable(
    'source',
    SCOPES,
    {
      address: field('string', 'The client IP address.'),
      port: field('int', 'The client port.'),
      rawAddress: field('string', 'The address of the TCP peer, if a PROXY header gave a different one.'),
      rawPort: field('int', 'The port of the TCP peer.'),
      identity: field(
        {
          trustDomain: field('string', 'Trust domain.'),
          namespace: field('string', 'Namespace.'),
          serviceAccount: field('string', 'Service account.'),
        },
        'The SPIFFE identity of the client certificate.',
      ),
      spiffeId: field('string', 'The SPIFFE ID of the client certificate.'),
      subjectAltNames: field('strings', 'Subject alternative names of the client certificate.'),
      issuer: field('string', 'Issuer of the client certificate.'),
      subject: field('string', 'Subject of the client certificate.'),
      subjectCn: field('string', 'Common name of the client certificate.'),
      certificate: field('string', 'The client certificate, PEM.'),
      unverifiedWorkload: field(workload, 'The workload that owns the client address; not authenticated.'),
      connectHeaders: field('dyn', 'Header fields of the CONNECT request that carries this one.'),
    },
    'The client side of the connection.',
  ),
  variable(
    'destination',
    ['target', ...HTTP],
    {
      address: field('string', 'The address the client connected to.'),
      port: field('int', 'The port the client connected to.'),
      hostname: field('string', 'The server name of the TLS handshake.'),
    },
    'The destination of the client connection.',
  ),
  variable(
    'mcp',
    ['mcp', 'log'],
    {
      tool: field(
        {
          ...target,
          arguments: field('dyn', 'The arguments of the call; absent for lists.'),
          result: field('dyn', 'The result of the call.', LOG),
          error: field('dyn', 'The error of the call.', LOG),
        },
        'The tool.',
      ),
      prompt: field(target, 'The prompt.'),
      resource: field(target, 'The resource.'),
      task: field(target, 'The task.'),
      methodName: field('string', 'The JSON-RPC method.', LOG),
      sessionId: field('string', 'The MCP session.', LOG),
    },
    'The MCP item in question: exactly one of tool, prompt, resource and task is set.',
  ),
  variable(
    'backend',
    HTTP,
    {
      name: field('string', 'Its name.'),
      type: field('string', '`ai`, `mcp`, `static`, `dynamic`, `service` or `unknown`.'),
      protocol: field('string', '`http`, `tcp`, `a2a`, `mcp` or `llm`.'),
    },
    'The backend; absent until one is chosen.',
  ),
  variable('extauthz', HTTP, 'dyn', 'Metadata from external authorization.'),
  variable('extproc', HTTP, 'dyn', 'Metadata from external processing.'),
  variable('mcpGuardrails', HTTP, 'dyn', 'Metadata from MCP guardrails.'),
  variable('metadata', HTTP, 'dyn', 'Values set by the `metadata` of earlier transformations.'),
]

const byName: ReadonlyMap<string, Variable> = new Map(VARIABLES.map(each => [each.name, each]))

export function variableNamed(name: string): Variable | undefined {
  return byName.get(name)
}

export function visible(entry: VariableField, scope: CelScope): boolean {
  return entry.scopes?.includes(scope) ?? true
}

/** The entry at a dotted path: `request`, `proxy.route.name`; undefined if there is none. */
export function variableAt(path: string): VariableField | undefined {
  const [root = '', ...rest] = path.split('.')
  let at: VariableField | undefined = byName.get(root)
  for (const name of rest) {
    if (!at || typeof at.type === 'string' || !Object.hasOwn(at.type, name)) return undefined
    at = at.type[name]
  }
  return at
}

/** Names of the declared fields; empty for a free-form variable. */
export function fieldNames(path: string): readonly string[] {
  const type = variableAt(path)?.type
  return type === undefined || typeof type === 'string' ? [] : Object.keys(type)
}

/** For messages: where expressions of these scopes are used. */
export function describeScopes(scopes: readonly CelScope[]): string {
  return scopes.map(scope => SCOPE_NAMES[scope]).join(', ')
}

const SCOPE_NAMES: Readonly<Record<CelScope, string>> = {
  connection: 'connection policies',
  target: 'dynamic targets',
  request: 'request policies',
  llmRequest: 'LLM request policies',
  mcp: 'MCP authorization',
  response: 'response policies',
  usage: 'token rate limits',
  log: 'access logs, traces and metrics',
}

// long: the table of all codes, looked up as one
import type { Severity } from './diagnostic.ts'

interface CodeEntry {
  readonly severity: Severity
  readonly title: string
  /** Meaning and remedy, for `gwctl explain CODE` and the reference page. */
  readonly text: string
}

const entry = (severity: Severity, title: string, text: string): CodeEntry => ({ severity, title, text })

/**
 * Every finding that gwctl can report. GW0xx text, GW1xx schema, GW2xx references, GW3xx expressions, GW4xx attachment
 * and translation, GW5xx lint, GW6xx valid but not served yet. A code is never renumbered or reused.
 */
export const CODES = {
  GW001: entry(
    'error',
    'invalid YAML',
    'The text is not YAML. The message names the likely cause: a tab, a missing colon, an unclosed quote or bracket.',
  ),
  GW002: entry(
    'error',
    'duplicate key',
    'A map sets the same key twice. YAML parsers disagree about which one wins, so remove one.',
  ),
  GW003: entry(
    'error',
    'aliases expand without bound',
    'Anchors and aliases nest so deeply that expanding them would exhaust memory.',
  ),
  GW004: entry(
    'error',
    'template, not configuration',
    'The file is a template (Helm, for example). Render it first: `helm template . | gwctl validate -`.',
  ),
  GW005: entry(
    'warning',
    'ambiguous scalar',
    'YAML 1.1 and YAML 1.2 parsers interpret this unquoted value differently. Quote it.',
  ),
  GW006: entry(
    'warning',
    'empty file',
    'The file contains no configuration. An empty file is valid and configures nothing.',
  ),
  GW007: entry(
    'error',
    'unreadable input',
    'The file cannot be read as text: it does not exist, is binary, is not UTF-8 or UTF-16, or is larger than 16 MiB.',
  ),
  GW008: entry(
    'error',
    'several documents',
    'The standalone configuration is one YAML document. Split the file, or remove the extra documents.',
  ),
  GW009: entry(
    'error',
    'not a configuration',
    'The document is neither a standalone configuration nor a resource: it belongs to another tool, or its top level is not a map.',
  ),
  GW010: entry(
    'warning',
    'unused suppression',
    'A `gwctl-ignore` comment names a code that is not reported on its line. Remove it before it hides a later mistake.',
  ),
  GW011: entry(
    'error',
    'invalid suppression',
    'The `gwctl-ignore` comment is malformed and suppresses nothing. Write `# gwctl-ignore GW206: reason` on the line of the finding or on its own line above. Separate several codes with commas.',
  ),
  GW101: entry('error', 'wrong type', 'The value does not have the type that the field expects.'),
  GW102: entry(
    'error',
    'unknown field',
    'The field does not exist here. Unknown fields are rejected because a misspelt field would otherwise be ignored silently.',
  ),
  GW103: entry('error', 'missing field', 'A required field is not set.'),
  GW104: entry('error', 'value not allowed', 'The field accepts only a fixed set of values.'),
  GW105: entry('error', 'out of range', 'The number is outside the range that the field accepts.'),
  GW106: entry('error', 'bad format', 'The value does not have the format that the field expects.'),
  GW107: entry('error', 'no variant set', 'One of several fields must be set, and none is.'),
  GW108: entry('error', 'conflicting fields', 'At most one of several fields may be set, and more than one is.'),
  GW109: entry(
    'error',
    'wrong number of items',
    'The list or map has too few or too many items for the field. An MCP backend accepts 32 targets (agentgateway accepts 128): split them across several backends.',
  ),
  GW110: entry('error', 'wrong length', 'The string is too short or too long for the field.'),
  GW111: entry('error', 'invalid combination', 'Each field is valid by itself, but not in combination.'),
  GW112: entry(
    'error',
    'bad regular expression',
    'The pattern does not compile. Patterns use RE2 syntax: no look-around, no back-references.',
  ),
  GW113: entry('error', 'null value', 'The field has no value. Set one, or remove the field.'),
  GW114: entry('error', 'duplicate item', 'Two items in the list are equal, or have the same name or key.'),
  GW201: entry('error', 'unknown backend', 'The reference names a backend that the configuration does not define.'),
  GW202: entry('error', 'port used twice', 'Two binds, gateways or sections open the same port.'),
  GW203: entry(
    'error',
    'name used twice',
    'Two objects of the same kind have the same name, so references to it are ambiguous.',
  ),
  GW204: entry('error', 'unknown reference', 'The reference names an object that the configuration does not define.'),
  GW205: entry(
    'error',
    'variable not set',
    'The file refers to an environment variable that is not set and has no default (`${NAME:-default}`).',
  ),
  GW206: entry(
    'warning',
    'referenced file missing',
    'The file that the configuration refers to does not exist here. `--tier env` makes this an error, as `gwctl run` does.',
  ),
  GW207: entry(
    'error',
    'referenced file invalid',
    'The file that the configuration refers to exists but cannot be used: its format or content is wrong.',
  ),
  GW208: entry(
    'error',
    'unknown part of a reference',
    'The referenced object exists, but not the part of it that the reference names (port, section, key).',
  ),
  GW209: entry(
    'error',
    'reference not permitted',
    'The reference crosses into another namespace, and no ReferenceGrant there allows it.',
  ),
  GW210: entry('error', 'reference cycle', 'The references form a cycle.'),
  GW211: entry('error', 'unsuitable reference', 'The referenced object exists, but it cannot be used here.'),
  GW301: entry(
    'error',
    'expression does not parse',
    'The text is not a valid CEL expression. The message says what the parser expected, and where.',
  ),
  GW302: entry(
    'error',
    'expression does not check',
    'The CEL expression uses a name that does not exist here, combines incompatible types, or returns a type that the field does not accept. It would fail for every request.',
  ),
  GW303: entry('error', 'expression too large', 'The CEL expression exceeds the limit on length or nesting depth.'),
  GW304: entry(
    'warning',
    'expression fails for some requests',
    'A string literal in the CEL expression is not valid input for the function that it is passed to. The expression fails for every request that evaluates that call; behind `&&`, `||` or `?`, other requests are not affected.',
  ),
  GW401: entry(
    'warning',
    'policy selects nothing',
    'No object has the labels that the policy selects, so it has no effect.',
  ),
  GW402: entry(
    'error',
    'policy cannot target this',
    'The policy sets sections that cannot be attached to the kind of object that it targets.',
  ),
  GW403: entry(
    'error',
    'phase does not match the target',
    'PreRouting policies run before a route is chosen, so they can attach only to a Gateway or a ListenerSet.',
  ),
  GW404: entry(
    'warning',
    'route attaches to nothing',
    'The parent does not accept the route, model or ListenerSet: its hostnames, kind or namespace do not match.',
  ),
  GW405: entry(
    'error',
    'users that no policy identifies',
    'Users sign in at an MCP target (`signIn`), so that each call carries the token of whoever makes it. No policy of the route says who that is, so every call is refused. Add `mcpAuthentication`, `jwtAuth`, `apiKey`, `basicAuth` or `oidc`. A route without one may serve the sign-in pages alone: match the exact path of `redirectURI`.',
  ),
  GW501: entry(
    'warning',
    'route never reached',
    'Another route is tried first and receives every request that this match would accept. Longer paths and patterns are tried before shorter ones.',
  ),
  GW502: entry(
    'warning',
    'duplicate match',
    'Two matches of the same host are equal, so only the first is ever chosen. Change one, or remove it.',
  ),
  GW503: entry(
    'warning',
    'entry never reached',
    'An earlier entry of `conditional` applies whenever this one would, or the condition of this one is never true. Move the narrower condition up.',
  ),
  GW504: entry(
    'warning',
    'target never reached',
    'The virtual model never chooses this target: an earlier target matches whenever this one would, or the same model has already failed.',
  ),
  GW505: entry(
    'warning',
    'no backend receives requests',
    'Every backend of the route has weight 0. Give at least one a weight of 1 or more.',
  ),
  GW506: entry(
    'warning',
    'override without effect',
    'A request field is set twice: computed values replace `overrides`, which replace `defaults`. Remove one of them.',
  ),
  GW507: entry(
    'warning',
    'reply cannot be refused here',
    'A regex guard always masks its matches in replies, whatever its action. Write `mask`, or use another kind of guard to reject replies.',
  ),
  GW508: entry(
    'warning',
    'check fails open',
    'When the service behind this check is unreachable, every request passes. Make it fail closed unless availability matters more.',
  ),
  GW509: entry(
    'warning',
    'TLS not verified',
    'The identity of the server is not verified. Set its CA with `root`, or its name with `hostname`.',
  ),
  GW510: entry(
    'warning',
    'secret in the file',
    'The file contains a credential in plain text. Read it from the environment (`$NAME`) or from a file, or store its hash.',
  ),
  GW511: entry(
    'warning',
    'open proxy',
    'Clients choose the destination, and no authorization restricts them. Add `authorization`.',
  ),
  GW512: entry(
    'warning',
    'cached decision ignores the credential',
    'The cache key leaves out a credential that the service bases its decision on, so one client can get the decision made for another.',
  ),
  GW513: entry(
    'warning',
    'session id not exposed',
    'MCP clients in browsers need to read `mcp-session-id`. Add it to `exposeHeaders`.',
  ),
  GW514: entry(
    'warning',
    'credentials allowed from any origin',
    'Pages from any origin can send requests with the cookies of their visitors. List the allowed origins.',
  ),
  GW515: entry(
    'warning',
    'names may collide',
    'Several MCP targets share one namespace. A name that two of them use reaches neither.',
  ),
  GW516: entry(
    'warning',
    'rule reads an optional credential',
    'Authentication lets requests without a credential pass, and a rule reads that credential. A `deny` rule that reads an absent value does not deny. Use `mode: strict`.',
  ),
  GW517: entry(
    'info',
    'default differs from agentgateway',
    'Authentication without `mode` is strict here, as the specification says, and optional in agentgateway. Set the mode explicitly.',
  ),
  GW518: entry(
    'warning',
    'no time for a retry',
    'A single attempt may take as long as the whole request, so an attempt that times out leaves no time for a retry. Shorten `backendRequestTimeout`.',
  ),
  GW519: entry(
    'warning',
    'limit lets nothing pass',
    'The bucket has size 0 or is never refilled. `maxTokens` and `tokensPerFill` default to 0.',
  ),
  GW520: entry(
    'warning',
    'token limit without an LLM',
    'The limit counts LLM tokens on a route without an LLM backend. Count requests instead.',
  ),
  GW521: entry('info', 'unused backend', 'Nothing refers to the backend. Refer to it, or remove it.'),
  GW522: entry(
    'info',
    'gateway without routes',
    'The port is open, and every request to it gets 404. Attach a route, or remove the gateway.',
  ),
  GW523: entry(
    'warning',
    'policy without effect',
    'Wherever this policy would apply, another policy of the same kind replaces it: a more specific one, or of two resources for the same target the older one, then the one whose name sorts first. Policies of the same kind are not merged.',
  ),
  GW524: entry(
    'warning',
    'unknown MCP name',
    'The rule compares with a target that does not exist, or with a prefixed name. Rules see names without the prefix.',
  ),
  GW525: entry(
    'warning',
    'connection header',
    'This header describes a single connection, and the gateway sets it. Remove it.',
  ),
  GW526: entry(
    'warning',
    'pattern never matches',
    'Paths start with `/` and a pattern must match the whole path, so a pattern that starts with another character never matches.',
  ),
  GW527: entry(
    'warning',
    'host never matches',
    'The listener does not serve the hosts that the route names. Correct one of them.',
  ),
  GW528: entry(
    'warning',
    'admin server reachable',
    'The admin server requires no credentials and listens on an address that other machines can reach. Use a loopback address.',
  ),
  GW529: entry('warning', 'deprecated field', 'A newer field replaces this one. Use it: the old form may be removed.'),
  GW530: entry(
    'warning',
    'program not found',
    'The program of a stdio target is not installed on this machine. Checked in tier `env` only.',
  ),
  GW531: entry('info', 'no time limit', 'A time limit of 0 means no limit. Remove it, or set one.'),
  GW532: entry('info', 'privileged port', 'Ports below 1024 require privileges on many systems.'),
  GW533: entry(
    'warning',
    'constant condition',
    'The condition or pattern does not depend on the request. Remove it, or correct it.',
  ),
  GW535: entry('info', 'nothing is mirrored', 'The fraction of mirrored requests is 0. Write 0.1 for 10 %.'),
  GW537: entry(
    'warning',
    'backends never called',
    'A policy on the route answers every request itself. Remove the backends or the policy.',
  ),
  GW538: entry(
    'warning',
    'route without a response',
    'The route has neither backends nor a policy that responds, so every request gets 500.',
  ),
  GW540: entry(
    'warning',
    'two policies read the same credential',
    'Two policies need the same header, and the first one removes it, so no request passes. Give each its own location.',
  ),
  GW542: entry(
    'warning',
    'every body is refused',
    'The body limit is 0 bytes, so every request with a body is refused. Set `maxRequestBytes`.',
  ),
  GW543: entry(
    'warning',
    'streams not guarded',
    'Response guards do not see streamed replies unless `streaming: Enabled` is set.',
  ),
  GW544: entry(
    'warning',
    'listener of another protocol',
    'An HTTP route is attached to a TCP gateway, or the other way round. It is never used there.',
  ),
  GW545: entry(
    'warning',
    'port of another protocol',
    'A backend or service on port 443 is called without TLS, or one on port 80 with it. Add `backendTLS`, or correct the port.',
  ),
  GW546: entry(
    'warning',
    'field without effect',
    'Another field, or the rest of the policy, leaves this field without effect. Remove one of them.',
  ),
  GW549: entry(
    'info',
    'threshold too low',
    'The provider caches prompts of 1024 tokens or more. Cache markers on shorter prompts have no effect.',
  ),
  GW550: entry(
    'warning',
    'keys without TLS',
    'The keys that verify tokens are fetched over plain HTTP. Use `https://`.',
  ),
  GW551: entry(
    'warning',
    'body may exceed the processor limit',
    'The mode `buffered` fails on bodies over 8 KB, and `buffer` allows longer ones. Use `bufferedPartial` or `fullDuplexStreamed`.',
  ),
  GW556: entry(
    'warning',
    'body limit exceeds the total',
    'The limit for one body is higher than the memory limit for all bodies together, so a body of that size is refused with 503. Lower the limit, or raise `frontendPolicies.http.maxBufferTotal`.',
  ),
  GW552: entry(
    'warning',
    'no prefix to replace',
    'A rewrite or redirect replaces the matched prefix, but the route has a match that is not a prefix match. Requests that use it get 500. Use `full`, or match with `pathPrefix`.',
  ),
  GW554: entry(
    'warning',
    'credential that nothing verifies',
    'An authorization rule or `backendAuth.passthrough` needs a token, password or API key, but no policy on the request path verifies one, so there is none. Add the authentication policy.',
  ),
  GW555: entry(
    'warning',
    'pattern in a literal path',
    '`exact` and `pathPrefix` compare literally: `*`, `{id}` and `:id` have no special meaning. Use `regex`, or a shorter prefix.',
  ),
  GW553: entry(
    'info',
    'any audience accepted',
    'Without `audiences`, a token that the same issuer issued for another service is accepted here. Set it.',
  ),
  GW557: entry(
    'warning',
    'name shared by two objects',
    'Two routes of the same listener, or two models, share a name. Policies, logs and metrics use the name, and only the first model of that name is ever chosen. Rename one.',
  ),
  GW558: entry(
    'warning',
    'redirect to itself',
    'The same route redirects its own target again. Change the target, or narrow the match.',
  ),
  GW559: entry(
    'warning',
    'backend is the gateway itself',
    'The backend points at the port that serves the route, so a request loops until it reaches the hop limit and gets 508. Use the port of the service.',
  ),
  GW560: entry(
    'warning',
    'path matched as a header',
    'The pseudo-header `:path` includes the query. Match with `path` and `query`, which support prefixes and patterns.',
  ),
  GW561: entry(
    'warning',
    'duplicate backend',
    'Two backends of the route differ only in their weight, or a mirror copies requests to the backend that gets them anyway. One of them is probably meant to be a different backend.',
  ),
  GW562: entry(
    'warning',
    'time limit never reached',
    'A per-attempt limit longer than the limit for the whole request has no effect. Shorten it, or remove it.',
  ),
  GW563: entry(
    'warning',
    'header change undone',
    'A header or the host is written in two places, and only the later one takes effect. Headers are added, then set, then removed; `transformations` run before header modifiers, these before `urlRewrite`, and `backendAuth` comes last. Remove one of them.',
  ),
  GW564: entry(
    'warning',
    'contradictory or duplicate rules',
    'Two authorization rules have the same condition. Deny wins over allow, so one of them has no effect.',
  ),
  GW565: entry(
    'warning',
    'success is retried',
    'A status from 200 to 299 is a success. Retrying it repeats the side effects and gains nothing.',
  ),
  GW566: entry(
    'warning',
    'policy never runs',
    'Another policy on the route answers every request, so no request reaches a backend and this policy never runs. Remove one of them.',
  ),
  GW568: entry(
    'warning',
    'rule on paths that are not normalized',
    'A rule, or a route with its own rules, depends on the path, and `frontendPolicies.http.pathNormalization` lets through forms that a backend may read as a different path: `//admin`, `/x/../admin`, `/%61dmin`, `/admin%2Fx`. A client can use such a form to bypass the rule. Omit the field so that routes, rules and backends all see one normalized path.',
  ),
  GW569: entry(
    'warning',
    'match never true',
    'All entries of `headers` and `query` must match, and two of them require different values of one header or parameter. To accept either value, write two items of `matches`, or a `regex`.',
  ),
  GW570: entry(
    'warning',
    'comparison never true',
    'The variable never has the value or the type that it is compared with: methods are in capitals, paths start with `/`, host names are in lower case, headers are text, statuses are 100 to 599. Or a rule is about requests that its route does not accept.',
  ),
  GW571: entry(
    'warning',
    'pause longer than the time limit',
    'A delay, or the pause before a retry, is as long as the request timeout, so the request ends during it. Shorten the pause, or raise `requestTimeout`.',
  ),
  GW572: entry(
    'warning',
    'authorization without rules',
    'An authorization policy with an empty list of rules lets everything pass. Add a rule, or remove the policy.',
  ),
  GW573: entry(
    'warning',
    'command line instead of a program',
    '`cmd` is the name of a program and is not run by a shell, so arguments in it become part of the name. Put them into `args`.',
  ),
  GW574: entry(
    'warning',
    'listed twice',
    'A list that represents a set contains the same item twice. Remove one, or correct it if a different one was meant.',
  ),
  GW575: entry(
    'warning',
    'port of the gateway itself',
    'The port belongs to the admin, metrics or readiness server, which `gwctl run` opens too. Choose another port, or move the server with `config.adminAddr`, `config.statsAddr` or `config.readinessAddr`.',
  ),
  GW576: entry(
    'warning',
    'preflight never arrives',
    'Browsers send an OPTIONS request first, and the matches of the route accept only other methods. Remove `method` from the match, or add a match with `method: OPTIONS`.',
  ),
  GW577: entry(
    'info',
    'body limit of its own',
    '`buffer.maxBytes` exceeds `maxBufferSize`, which applies only where no policy sets a limit. Remove it, or raise `maxBufferSize`.',
  ),
  GW578: entry(
    'warning',
    'CORS allows what CSRF refuses',
    '`cors` allows state-changing requests from an origin, and `csrf` on the same route refuses them. Add the origin to `csrf.additionalOrigins`, or remove it from `cors`.',
  ),
  GW579: entry(
    'warning',
    'setting of another provider',
    'A parameter, cloud identity or `promptCaching` belongs to a provider other than the one that is called, and is not read. Remove it, or correct `provider`.',
  ),
  GW587: entry(
    'warning',
    'OpenAPI document without tools',
    'An MCP target takes its tools from an OpenAPI document that describes no operations, so clients see none.',
  ),
  GW588: entry(
    'warning',
    'operation without a name',
    'An operation of an OpenAPI document has no `operationId`. Its tool is named after method and path, so its name changes with them, and rules about it no longer apply.',
  ),
  GW589: entry(
    'warning',
    'operation that is not a tool as written',
    'An operation of an OpenAPI document is left out, or its tool accepts more than the document describes: its name is taken, a reference is unresolved, or it is too large.',
  ),
  GW590: entry(
    'warning',
    'MCP guardrail that looks at nothing',
    'A processor of `mcpGuardrails` has no `methods`, turns all of them off, or has a pattern (a method, `prefix/*`, `*/suffix` or `*`) that matches no method. Its messages pass unchecked.',
  ),
  GW591: entry(
    'warning',
    'body limit of 0',
    '`buffer.maxBytes: 0` refuses every body: requests with one get 413, replies with one become 502. Remove it to use the gateway’s limit (`maxBufferSize`), or set the largest body to accept.',
  ),
  GW592: entry(
    'warning',
    'sign-in that does not come back safely',
    'The provider redirects browsers to the `redirectURI` of `oidc`, or of `signIn` of an MCP target. Either no match accepts its path (for a target: on a route that lets browsers in), so sign-ins never complete; or it is plain HTTP to another machine, where anyone on the network path can read codes and cookies. Add a match, or write `https://`.',
  ),
  GW593: entry(
    'warning',
    'MCP clients that find no sign-in page',
    'Refusals of `mcpAuthentication` point clients to a document below `/.well-known/` that leads to the sign-in page. No route matches its path, so clients get 404 and give up. Add the match to the route of the endpoint.',
  ),
  GW594: entry(
    'warning',
    'guards without an LLM',
    'Prompt guards inspect requests to LLMs and their replies. No backend of the route is one, so requests pass unchecked. Move the guards to the route of the LLM, or write the backend as `ai`.',
  ),
  GW601: entry(
    'warning',
    'not served yet',
    'The section or field is valid, but this version does not serve it yet. `gwctl validate` accepts it; `gwctl run` refuses to start with it.',
  ),
  GW602: entry(
    'warning',
    'lost in translation',
    'Part of the resource is missing from the generated standalone file: the format cannot express it, or the resource cannot take effect. `gwctl translate --strict` makes this an error.',
  ),
} as const satisfies Record<string, CodeEntry>

export type Code = keyof typeof CODES

export function severityOf(code: Code): Severity {
  return CODES[code].severity
}

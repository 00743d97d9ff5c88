import type { Severity } from './diagnostic.ts'

interface CodeEntry {
  readonly severity: Severity
  readonly title: string
  /** What it means and what to do, for `gwctl explain CODE` and the reference page. */
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
    'A map sets the same key twice. YAML readers disagree on which one wins, so remove one.',
  ),
  GW003: entry(
    'error',
    'aliases expand without bound',
    'Anchors and aliases refer to one another so often that expanding them would exhaust memory.',
  ),
  GW004: entry(
    'error',
    'template, not configuration',
    'The file is a template (Helm, for example). Render it first: `helm template . | gwctl validate -`.',
  ),
  GW005: entry(
    'warning',
    'ambiguous scalar',
    'YAML 1.1 and YAML 1.2 readers take this unquoted value for different things. Quote it.',
  ),
  GW006: entry(
    'warning',
    'empty file',
    'The file holds no configuration. An empty file is valid and configures nothing.',
  ),
  GW007: entry(
    'error',
    'unreadable input',
    'The file cannot be read as text: it does not exist, is binary, is not UTF-8 or UTF-16, or is larger than 16 MiB.',
  ),
  GW008: entry(
    'error',
    'several documents',
    'The standalone configuration is one YAML document. Split the file or remove the extra documents.',
  ),
  GW009: entry(
    'error',
    'not a configuration',
    'The document is neither a standalone configuration nor a resource: its top level must be a map.',
  ),
  GW010: entry(
    'warning',
    'unused suppression',
    'A `gwctl-ignore` comment names a code that is not found at its line. Remove it, so that it cannot hide a later mistake.',
  ),
  GW011: entry(
    'error',
    'invalid suppression',
    'A `gwctl-ignore` comment suppresses nothing as it is written. Write `# gwctl-ignore GW206: reason`, on the line of the finding or on a line of its own above; several codes are separated by commas.',
  ),
  GW101: entry('error', 'wrong type', 'The value has another type than the field takes.'),
  GW102: entry(
    'error',
    'unknown field',
    'The field does not exist here. Misspelt fields would be ignored silently, so they are refused.',
  ),
  GW103: entry('error', 'missing field', 'A required field is not set.'),
  GW104: entry('error', 'value not allowed', 'The field takes one of a fixed set of values.'),
  GW105: entry('error', 'out of range', 'The number is outside the range that the field takes.'),
  GW106: entry('error', 'bad format', 'The value is not written in the form that the field takes.'),
  GW107: entry('error', 'no variant set', 'One of several fields must be set and none is.'),
  GW108: entry('error', 'conflicting fields', 'At most one of several fields may be set and more than one is.'),
  GW109: entry(
    'error',
    'wrong number of items',
    'The list or map has fewer or more items than the field takes. Of MCP targets it takes 32 where agentgateway takes 128: make several backends of them.',
  ),
  GW110: entry('error', 'wrong length', 'The text is shorter or longer than the field takes.'),
  GW111: entry('error', 'invalid combination', 'The fields are valid one by one but not together.'),
  GW112: entry(
    'error',
    'bad regular expression',
    'The pattern does not compile. Patterns use RE2 syntax: no look-around, no back-references.',
  ),
  GW113: entry('error', 'null value', 'The field is written without a value. Remove it or give it one.'),
  GW114: entry('error', 'duplicate item', 'Two items of the list are equal, or have the same name or key.'),
  GW201: entry('error', 'unknown backend', 'The reference names a backend that the configuration does not define.'),
  GW202: entry('error', 'port used twice', 'Two binds, gateways or sections open the same port.'),
  GW203: entry(
    'error',
    'name used twice',
    'Two objects of one kind have the same name, so a reference to it would be ambiguous.',
  ),
  GW204: entry('error', 'unknown reference', 'The reference names an object that the configuration does not define.'),
  GW205: entry(
    'error',
    'variable not set',
    'The file refers to an environment variable that has no value and no default (`${NAME:-default}`).',
  ),
  GW206: entry(
    'warning',
    'referenced file missing',
    'The file that the configuration refers to does not exist here. `--tier env` makes this an error, as `gwctl run` does.',
  ),
  GW207: entry(
    'error',
    'referenced file invalid',
    'The file that the configuration refers to exists but cannot be used: wrong format or wrong content.',
  ),
  GW208: entry(
    'error',
    'unknown part of a reference',
    'The object that the reference names exists, but the part of it (port, section, key) does not.',
  ),
  GW209: entry(
    'error',
    'reference not permitted',
    'The reference leads into another namespace and no ReferenceGrant there allows it.',
  ),
  GW210: entry('error', 'reference cycle', 'Following the references leads back to where they started.'),
  GW211: entry(
    'error',
    'unsuitable reference',
    'The object that the reference names exists, but it cannot be used at this place.',
  ),
  GW301: entry(
    'error',
    'expression does not parse',
    'The text is not a CEL expression. The message says what was expected where.',
  ),
  GW302: entry(
    'error',
    'expression does not check',
    'The CEL expression names what does not exist at this place, combines types that do not fit, or gives another type than the field takes: it would fail for every request.',
  ),
  GW303: entry('error', 'expression too large', 'The CEL expression is longer or deeper than the limits allow.'),
  GW304: entry(
    'warning',
    'expression fails for some requests',
    'A text in the CEL expression is not what the function around it reads. Requests for which the expression comes to it make it fail; behind `&&`, `||` or `?`, others do not.',
  ),
  GW401: entry(
    'warning',
    'policy selects nothing',
    'No object has the labels that the policy selects: it has no effect.',
  ),
  GW402: entry(
    'error',
    'policy cannot target this',
    'The sections that the policy sets cannot be attached to the kind of object that it targets.',
  ),
  GW403: entry(
    'error',
    'phase does not fit the target',
    'Policies of the PreRouting phase influence which route is chosen, so they attach to a Gateway or a ListenerSet.',
  ),
  GW404: entry(
    'warning',
    'route attaches to nothing',
    'The parent does not take the route, model or ListenerSet: its host names, kind or namespace do not fit.',
  ),
  GW501: entry(
    'warning',
    'route never reached',
    'Another route is tried first and takes every request that this match fits. Longer paths and patterns are tried before shorter ones.',
  ),
  GW502: entry(
    'warning',
    'same match twice',
    'Two matches of one host are equal, so only the first one is ever chosen. Make them differ, or remove one.',
  ),
  GW503: entry(
    'warning',
    'entry never reached',
    'An earlier entry of `conditional` applies whenever this one would, or its own condition is never true. Move the narrower condition up.',
  ),
  GW504: entry(
    'warning',
    'target never reached',
    'The virtual model never chooses this target: an earlier one holds whenever it would, or the same model has failed already.',
  ),
  GW505: entry(
    'warning',
    'no backend takes requests',
    'All backends of the route have weight 0. Give one of them a weight of 1 or more.',
  ),
  GW506: entry(
    'warning',
    'override without effect',
    'A field of the request is set by `overrides` and computed too. The computed value wins; remove one of them.',
  ),
  GW507: entry(
    'warning',
    'reply cannot be refused here',
    'A regex guard masks what it finds in replies, whatever its action. Write `mask`, or refuse with another kind of guard.',
  ),
  GW508: entry(
    'warning',
    'check fails open',
    'When the service behind the check cannot be asked, everything passes. Let it fail closed unless availability matters more.',
  ),
  GW509: entry(
    'warning',
    'TLS not verified',
    'The other side need not prove who it is. Name its issuer with `root`, or its name with `hostname`.',
  ),
  GW510: entry(
    'warning',
    'secret in the file',
    'A credential stands in the file as it is. Take it from the environment (`$NAME`) or from a file, or store its hash.',
  ),
  GW511: entry(
    'warning',
    'open proxy',
    'Clients choose where requests go and no authorization limits them. Add `authorization`.',
  ),
  GW512: entry(
    'warning',
    'decisions kept without the credential',
    'The key of the cache leaves out a credential that the service decides on, so one client gets the decision made for another.',
  ),
  GW513: entry(
    'warning',
    'session id not exposed',
    'MCP clients in browsers must be able to read `mcp-session-id`. Add it to `exposeHeaders`.',
  ),
  GW514: entry(
    'warning',
    'any origin with credentials',
    'Pages of any origin may send requests with the cookies of their visitors. Name the origins.',
  ),
  GW515: entry(
    'warning',
    'names may collide',
    'Several MCP targets share one set of names. A name that two of them use reaches neither.',
  ),
  GW516: entry(
    'warning',
    'rule needs an optional credential',
    'Requests pass authentication without a credential, and a rule reads it: a `deny` rule that fails does not deny. Use `mode: strict`.',
  ),
  GW517: entry(
    'info',
    'default differs from agentgateway',
    'Authentication without `mode` is strict here, as the specification says, and optional in agentgateway. Write the mode.',
  ),
  GW518: entry(
    'warning',
    'no time for a retry',
    'A single call may take as long as the whole request, so a call that times out cannot be repeated. Shorten `backendRequestTimeout`.',
  ),
  GW519: entry(
    'warning',
    'limit lets nothing pass',
    'The bucket has size 0 or is never filled again. `maxTokens` and `tokensPerFill` count as 0 when they are not set.',
  ),
  GW520: entry(
    'warning',
    'token limit without an LLM',
    'The limit counts tokens of LLMs on a route that leads to none. Count requests instead.',
  ),
  GW521: entry('info', 'unused backend', 'Nothing refers to the backend. Refer to it, or remove it.'),
  GW522: entry(
    'info',
    'gateway without routes',
    'The port is opened, and every request gets 404. Attach a route, or remove it.',
  ),
  GW523: entry(
    'warning',
    'policy without effect',
    'Wherever the policy would apply, a narrower policy of the same kind replaces it. Policies of one kind are not merged.',
  ),
  GW524: entry(
    'warning',
    'unknown MCP name',
    'The rule compares with a target that does not exist, or with a name that carries the prefix which rules do not see.',
  ),
  GW525: entry(
    'warning',
    'connection header',
    'The header field describes a single connection. The gateway writes it itself; remove it.',
  ),
  GW526: entry(
    'warning',
    'pattern never matches',
    'A path starts with `/` and a pattern must match all of it, so a pattern that starts with another character never does.',
  ),
  GW527: entry(
    'warning',
    'host never arrives',
    'The listener serves other hosts than the route names. Correct one of them.',
  ),
  GW528: entry(
    'warning',
    'admin server reachable',
    'The admin server asks for no credentials and listens on an address that other machines reach. Use a loopback address.',
  ),
  GW529: entry('warning', 'deprecated field', 'The field has a successor. Use that: older forms may go away.'),
  GW530: entry(
    'warning',
    'program not found',
    'The program of a stdio target is not on this machine. Looked for in tier `env` only.',
  ),
  GW531: entry('info', 'no time limit', 'A time limit of 0 is none. Remove it, or write a limit.'),
  GW532: entry('info', 'privileged port', 'Ports below 1024 need a privilege on many systems.'),
  GW533: entry(
    'warning',
    'constant condition',
    'The condition does not depend on the request. Remove it, or correct it.',
  ),
  GW535: entry(
    'info',
    'nothing is mirrored',
    'The share of requests that are copied is 0. It is a fraction: 0.1 for 10 %.',
  ),
  GW537: entry(
    'warning',
    'backends never asked',
    'A policy of the route answers every request itself. Remove the backends, or the policy.',
  ),
  GW538: entry(
    'warning',
    'route without answer',
    'The route has neither backends nor a policy that answers: every request gets 500.',
  ),
  GW540: entry(
    'warning',
    'one credential for two policies',
    'Two policies need the same header, and the first one removes it: no request passes. Give one of them a location of its own.',
  ),
  GW542: entry(
    'warning',
    'body never sent',
    'The limit of the body is 0 bytes, so that requests with a body are refused. Set `maxRequestBytes`.',
  ),
  GW543: entry(
    'warning',
    'streams not guarded',
    'Guards on replies do not see streamed ones unless `streaming: Enabled` is set.',
  ),
  GW544: entry(
    'warning',
    'listener of another protocol',
    'A route for HTTP is attached to a gateway for TCP, or the other way round: it is never used there.',
  ),
  GW545: entry('warning', 'plain HTTP to port 443', 'TLS is not on for a backend at port 443. Add `backendTLS`.'),
  GW546: entry(
    'warning',
    'field without effect',
    'Another field has decided what this one is about. Remove it, or the other one.',
  ),
  GW549: entry(
    'info',
    'threshold too low',
    'The provider caches prompts from 1024 tokens on: marks on shorter ones have no effect.',
  ),
  GW550: entry(
    'warning',
    'keys without TLS',
    'The keys that tokens are verified with are fetched in plain text. Use `https://`.',
  ),
  GW551: entry(
    'warning',
    'body too long for its check',
    'The mode `buffered` fails on bodies over 8 KB, and `buffer` takes longer ones. Write `bufferedPartial` or `fullDuplexStreamed`.',
  ),
  GW601: entry(
    'warning',
    'not served yet',
    'The section or field is valid, but the engine of this version does not serve it yet. `gwctl validate` accepts it and `gwctl run` refuses to start with it.',
  ),
  GW602: entry(
    'warning',
    'lost in translation',
    'The resource says something that the standalone file made of it does not: it has no place for it, or the resource cannot take effect. `gwctl translate --strict` makes this an error.',
  ),
} as const satisfies Record<string, CodeEntry>

export type Code = keyof typeof CODES

export function severityOf(code: Code): Severity {
  return CODES[code].severity
}

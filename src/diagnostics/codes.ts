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
  GW109: entry('error', 'wrong number of items', 'The list or map has fewer or more items than the field takes.'),
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
    'invalid expression',
    'The CEL expression does not parse or uses a name, function or type that does not exist at this place.',
  ),
  GW302: entry(
    'error',
    'wrong result type',
    'The CEL expression is valid but gives a value of another type than the field takes.',
  ),
  GW303: entry('error', 'expression too large', 'The CEL expression is longer or deeper than the limits allow.'),
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
  GW601: entry(
    'warning',
    'not served yet',
    'The section or field is valid, but the engine of this version does not serve it yet. `gwctl validate` accepts it and `gwctl run` refuses to start with it.',
  ),
} as const satisfies Record<string, CodeEntry>

export type Code = keyof typeof CODES

export function severityOf(code: Code): Severity {
  return CODES[code].severity
}

/**
 * The category of a failure, for callers that must still decide.
 * `absent`: the requested value does not exist; `exhausted`: a step, depth or size limit is exceeded; `unreadable`:
 * data exists but cannot be parsed; `mismatch`: a value has the wrong type; `invalid`: a value has the right type but
 * does not fit.
 */
export type FailureKind = 'absent' | 'exhausted' | 'unreadable' | 'mismatch' | 'invalid'

/** Why an evaluation failed. Only these texts reach an Outcome: never a value, a header or a token. */
const REASONS = {
  no_such_key: ['absent', 'no such key'],
  unknown_variable: ['absent', 'the variable has no value here'],
  index_out_of_bounds: ['absent', 'index out of bounds'],
  optional_value_missing: ['absent', 'the optional has no value'],
  no_body: ['absent', 'there is no body'],
  budget: ['exhausted', 'the expression takes too many steps'],
  too_deep: ['exhausted', 'the data is nested too deeply'],
  too_large: ['exhausted', 'the value is too large'],
  body_unread: ['unreadable', 'the body is too large to be read'],
  bool_conversion_error: ['unreadable', 'the text is not a boolean'],
  double_conversion_error: ['unreadable', 'the value is not a number'],
  int_conversion_error: ['unreadable', 'the value is not an integer'],
  uint_conversion_error: ['unreadable', 'the value is not an unsigned integer'],
  invalid_json: ['unreadable', 'the text is not JSON'],
  repeated_member: ['unreadable', 'an object of the JSON text has the same member twice'],
  invalid_utf8: ['unreadable', 'the bytes are not UTF-8'],
  invalid_base64: ['unreadable', 'the text is not base64'],
  invalid_token: ['unreadable', 'the text is not a JWT'],
  invalid_timestamp: ['unreadable', 'the value is not an RFC 3339 timestamp'],
  invalid_duration: ['unreadable', 'the text is not a duration'],
  invalid_timezone: ['unreadable', 'the text is not a time zone'],
  invalid_address: ['unreadable', 'the text is not an IP address or CIDR'],
  invalid_regular_expression: ['unreadable', 'the text is not a valid pattern'],
  failed_value: ['unreadable', 'the expression that gives the value has failed'],
  several_values: ['mismatch', 'the header has several values'],
  partial_list: ['mismatch', 'an element lacks what the expression asks of each'],
  wrong_key: ['mismatch', 'the key has a type that no key of the map has'],
  not_a_map: ['mismatch', 'the value has no fields'],
  no_such_overload: ['mismatch', 'the operands have the wrong types'],
  no_matching_overload: ['mismatch', 'an argument has the wrong type'],
  invalid_logical_operand: ['mismatch', '`&&`, `||` and `!` take booleans'],
  invalid_condition_type: ['mismatch', 'a condition must be a boolean'],
  invalid_comprehension_range: ['mismatch', 'only lists and maps can be iterated'],
  unsupported_type: ['mismatch', 'a value has a type that expressions cannot use'],
  field_type_mismatch: ['mismatch', 'a field has an unexpected type'],
  variable_type_mismatch: ['mismatch', 'a variable has an unexpected type'],
  invalid_list_element_type: ['mismatch', 'the list must contain only strings'],
  optional_expected: ['mismatch', 'an optional was expected'],
  invalid_optional_argument: ['mismatch', 'an optional was expected'],
  invalid_comparison_type: ['mismatch', 'the values cannot be compared'],
  invalid_argument: ['mismatch', 'an argument has the wrong type'],
  invalid_key: ['mismatch', 'the keys of a map are strings, integers or booleans'],
  wrong_result: ['mismatch', 'the result has the wrong type'],
  index_out_of_range: ['invalid', 'index out of range'],
  numeric_overflow: ['invalid', 'integer overflow'],
  division_by_zero: ['invalid', 'division by zero'],
  modulo_by_zero: ['invalid', 'division by zero'],
  duplicate_key: ['invalid', 'the map has the same key twice'],
  timestamp_range: ['invalid', 'the time is not between the years 1 and 9999'],
  failed: ['invalid', 'fail() was called'],
} as const satisfies Readonly<Record<string, readonly [FailureKind, string]>>

export type FailureCode = keyof typeof REASONS

/** Thrown by functions and views. It has no message of its own that could leak data. */
export class CelFailure extends Error {
  readonly code: FailureCode
  readonly node: { readonly start: number } | undefined

  /** `node`: the position in the expression. */
  constructor(code: FailureCode, node?: { readonly start: number }) {
    super(REASONS[code][1])
    this.code = code
    this.node = node
  }
}

/** The error's code, if it is one of ours or the library's. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : undefined
}

export function kindOf(error: unknown): FailureKind {
  const code = codeOf(error)
  if (code !== undefined) return Object.hasOwn(REASONS, code) ? REASONS[code as FailureCode][0] : 'mismatch'
  return error instanceof RangeError && !isTimeZone(error) ? 'exhausted' : 'invalid'
}

/** Whether the failure means absence rather than an error. */
export function isAbsence(error: unknown): boolean {
  return kindOf(error) === 'absent'
}

/** The failure to report of two: absence is reported only if both are absences. */
export function graver(first: unknown, second: unknown): unknown {
  return isAbsence(first) ? second : first
}

/** One line with the failure and its position in the expression. */
export function describeFailure(error: unknown, place: (offset: number) => number): string {
  const code = codeOf(error)
  if (code === undefined) {
    if (!(error instanceof RangeError)) return 'the expression failed'
    return isTimeZone(error) ? REASONS.invalid_timezone[1] : REASONS.too_deep[1]
  }
  const reason = Object.hasOwn(REASONS, code) ? REASONS[code as FailureCode][1] : code.replaceAll('_', ' ')
  const start = (error as { node?: { start?: unknown } }).node?.start
  return typeof start === 'number' ? `${reason}, at character ${place(start) + 1}` : reason
}

function isTimeZone(error: RangeError): boolean {
  return /time zone/.test(error.message)
}

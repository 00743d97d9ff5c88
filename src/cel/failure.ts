/** Why an evaluation failed. Only these words reach an Outcome: never a value, a header or a token. */
const REASONS = {
  no_such_key: 'no such key',
  unknown_variable: 'the variable has no value here',
  index_out_of_bounds: 'index out of bounds',
  index_out_of_range: 'index out of range',
  no_such_overload: 'the operands have the wrong types',
  no_matching_overload: 'an argument has the wrong type',
  invalid_logical_operand: '`&&`, `||` and `!` take booleans',
  invalid_condition_type: 'a condition must be a boolean',
  invalid_comprehension_range: 'only lists and maps can be iterated',
  unsupported_type: 'a value has a type that expressions cannot use',
  field_type_mismatch: 'a field has an unexpected type',
  variable_type_mismatch: 'a variable has an unexpected type',
  invalid_list_element_type: 'the list must contain only strings',
  optional_value_missing: 'the optional has no value',
  optional_expected: 'an optional was expected',
  invalid_optional_argument: 'an optional was expected',
  numeric_overflow: 'integer overflow',
  division_by_zero: 'division by zero',
  modulo_by_zero: 'division by zero',
  invalid_comparison_type: 'the values cannot be compared',
  bool_conversion_error: 'the text is not a boolean',
  double_conversion_error: 'the value is not a number',
  int_conversion_error: 'the value is not an integer',
  uint_conversion_error: 'the value is not an unsigned integer',
  invalid_argument: 'an argument has the wrong type',
  invalid_json: 'the text is not JSON',
  invalid_utf8: 'the bytes are not UTF-8',
  invalid_base64: 'the text is not base64',
  invalid_token: 'the text is not a JWT',
  invalid_timestamp: 'the value is not an RFC 3339 timestamp',
  invalid_duration: 'the text is not a duration',
  invalid_timezone: 'the text is not a time zone',
  invalid_address: 'the text is not an IP address or CIDR',
  invalid_regular_expression: 'the text is not a valid pattern',
  failed: 'fail() was called',
  budget: 'the expression takes too many steps',
  too_deep: 'the data is nested too deeply',
  too_large: 'the value is too large',
  wrong_result: 'the result has the wrong type',
} as const

export type FailureCode = keyof typeof REASONS

/** Thrown by functions and views. It carries no text of its own, so nothing can leak through it. */
export class CelFailure extends Error {
  readonly code: FailureCode

  constructor(code: FailureCode) {
    super(REASONS[code])
    this.code = code
  }
}

/** The error's code, if it is one of ours or the library's. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' ? code : undefined
}

/** Whether it means that something is not there, as opposed to something being wrong. */
export function isAbsence(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'no_such_key' || code === 'unknown_variable' || code === 'index_out_of_bounds'
}

/** One line that says what failed and where in the expression. */
export function describeFailure(error: unknown, place: (offset: number) => number): string {
  const code = codeOf(error)
  if (code === undefined) {
    if (!(error instanceof RangeError)) return 'the expression failed'
    return /time zone/.test(error.message) ? REASONS.invalid_timezone : REASONS.too_deep
  }
  const reason = Object.hasOwn(REASONS, code) ? REASONS[code as FailureCode] : code.replaceAll('_', ' ')
  const start = (error as { node?: { start?: unknown } }).node?.start
  return typeof start === 'number' ? `${reason}, at character ${place(start) + 1}` : reason
}

/**
 * The fields of a query or of an `application/x-www-form-urlencoded` text, in linear time: URLSearchParams takes the
 * square of their number for fields without `=`, so each gets one, which means the same.
 */
export function formFields(text: string): URLSearchParams {
  const fields = text.startsWith('?') ? text.slice(1) : text
  return new URLSearchParams(`&${fields}`.replace(/&([^&=]+)(?=&|$)/g, '&$1='))
}

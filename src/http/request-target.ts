/**
 * Visible ASCII without `#` and `\\`: some servers end the path at the former and treat the latter as a slash, and
 * would serve a different path than the one that was checked (RFC 9112 section 3.2 allows neither).
 */
const TARGET = /^[!"$-[\]-~]+$/

/** Whether every parser reads a request target, or a path written by a policy, the same way. */
export function isRequestTarget(text: string): boolean {
  return TARGET.test(text)
}

/**
 * Visible ASCII without `#` and `\\`: some servers end the path at the one and take the other for a slash, so that they
 * would serve another path than the one that was checked (RFC 9112 section 3.2 allows neither).
 */
const TARGET = /^[!"$-[\]-~]+$/

/** Whether a request target, or a path that a policy writes, is the same to every reader. */
export function isRequestTarget(text: string): boolean {
  return TARGET.test(text)
}

/** Whether a text of ASCII is `lower` in any spelling. Names of fields that are as long as each other seldom begin alike. */
export function equalsIgnoreCase(name: string, lower: string): boolean {
  const { length } = lower
  if (name.length !== length || !isLetter(name.charCodeAt(0), lower.charCodeAt(0))) return false
  if (name === lower) return true
  for (let i = 1; i < length; i++) if (!isLetter(name.charCodeAt(i), lower.charCodeAt(i))) return false
  return true
}

/** Without `toLowerCase`, which makes a text of each name. */
function isLetter(code: number, lower: number): boolean {
  return code === lower || (code >= 65 && code <= 90 && code + 32 === lower)
}

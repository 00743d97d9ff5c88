/** Case-insensitive comparison of ASCII. Field names of equal length seldom start alike, so this fails fast. */
export function equalsIgnoreCase(name: string, lower: string): boolean {
  const { length } = lower
  if (name.length !== length || !isLetter(name.charCodeAt(0), lower.charCodeAt(0))) return false
  if (name === lower) return true
  for (let i = 1; i < length; i++) if (!isLetter(name.charCodeAt(i), lower.charCodeAt(i))) return false
  return true
}

/** Avoids `toLowerCase`, which allocates a string per name. */
function isLetter(code: number, lower: number): boolean {
  return code === lower || (code >= 65 && code <= 90 && code + 32 === lower)
}

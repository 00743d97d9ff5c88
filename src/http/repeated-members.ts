/** Whether any object in `text` has a duplicate member: parsers disagree on which of the two wins. */
export function hasRepeatedMembers(text: string, value: unknown): boolean {
  return countColons(text) !== countMembers(value)
}

/** Colons outside strings: one per member. */
function countColons(text: string): number {
  let colons = 0
  let colon = text.indexOf(':')
  for (let at = 0; colon >= 0; ) {
    const quote = text.indexOf('"', at)
    const end = quote < 0 ? text.length : quote
    for (; colon >= 0 && colon < end; colon = text.indexOf(':', colon + 1)) colons++
    if (quote < 0) break
    at = closingQuote(text, quote + 1) + 1
    if (colon >= 0 && colon < at) colon = text.indexOf(':', at)
  }
  return colons
}

function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = at - 1
    while (text.charCodeAt(slashes) === 0x5c) slashes--
    if ((at - slashes) % 2 === 1) return at
  }
  return text.length
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) for (const each of value) count += countMembers(each)
  else for (const each of Object.values(value)) count += 1 + countMembers(each)
  return count
}

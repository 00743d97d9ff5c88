/** What an expression gives whatever the request is, when its text shows that. */
export function constantOf(text: string): boolean | undefined {
  let bare = text.trim()
  while (/^\((?:[^()]|\([^()]*\))*\)$/.test(bare)) bare = bare.slice(1, -1).trim()
  if (bare === 'true' || bare === '!false') return true
  if (bare === 'false' || bare === '!true') return false
  if (/["'()[\]{}?]/.test(bare)) return undefined
  const either = bare.split('||').map(part => part.trim())
  if (either.length > 1) return either.some(part => constantOf(part) === true) ? true : undefined
  const both = bare.split('&&').map(part => part.trim())
  if (both.length > 1) return both.some(part => constantOf(part) === false) ? false : undefined
  const equal = /^(\d+)\s*(==|!=)\s*(\d+)$/.exec(bare)
  return equal ? (equal[1] === equal[3]) === (equal[2] === '==') : undefined
}

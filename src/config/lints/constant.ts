/** What an expression gives whatever the request is, when its text shows that. */
export function constantOf(text: string): boolean | undefined {
  let bare = text.trim()
  while (/^\((?:[^()]|\([^()]*\))*\)$/.test(bare)) bare = bare.slice(1, -1).trim()
  if (bare === 'true' || bare === '!false') return true
  if (bare === 'false' || bare === '!true') return false
  const compared = constantComparisons(bare)
  if (compared !== undefined) return compared
  const alike = /^(request\.[\w.]+)\s*(==|!=)\s*(request\.[\w.]+)$/.exec(bare)
  if (alike && alike[1] === alike[3]) return alike[2] === '=='
  if (/^request\.[\w.]+\s+in\s+\[\s*\]$/.test(bare)) return false
  if (/["'()[\]{}?]/.test(bare)) return undefined
  const either = bare.split('||').map(part => part.trim())
  if (either.length > 1) return either.some(part => constantOf(part) === true) ? true : undefined
  const both = bare.split('&&').map(part => part.trim())
  if (both.length > 1) return both.some(part => constantOf(part) === false) ? false : undefined
  const equal = /^(\d+)\s*(==|!=)\s*(\d+)$/.exec(bare)
  return equal ? (equal[1] === equal[3]) === (equal[2] === '==') : undefined
}

const OPERAND = /^((?!\d)[\w.]+(?:\["[^"\\]*"\]|\['[^'\\]*'\])?)\s*(==|!=)\s*("[^"\\]*"|'[^'\\]*'|-?\d+)$/
/** What every request has exactly one of. */
const ALWAYS_THERE = /^(?:request\.(?:method|path|host|scheme|uri)|response\.code)$/

/** `a == 1 && a == 2` holds for nothing, `a != 1 || a != 2` for everything. */
function constantComparisons(text: string): boolean | undefined {
  const opposed = complements(text)
  if (opposed !== undefined) return opposed
  for (const [joint, wanted, constant] of [
    ['&&', '==', false],
    ['||', '!=', true],
  ] as const) {
    const parts = text.split(joint).map(part => OPERAND.exec(part.trim()))
    const values = new Map<string, string>()
    if (parts.length < 2 || parts.some(part => part?.[2] !== wanted)) continue
    for (const part of parts) {
      const [, subject = '', , literal = ''] = part!
      const value = literal.replace(/^'(.*)'$/, '"$1"')
      const known = values.get(subject)
      if (known !== undefined && known !== value && (!constant || ALWAYS_THERE.test(subject))) return constant
      values.set(subject, value)
    }
  }
  return undefined
}

/** `a == 1 || a != 1` holds for everything, `a == 1 && a != 1` for nothing. */
function complements(text: string): boolean | undefined {
  for (const joint of ['||', '&&']) {
    const [a, b, ...more] = text.split(joint).map(part => OPERAND.exec(part.trim()))
    if (!a || !b || more.length > 0 || a[1] !== b[1] || a[3] !== b[3] || a[2] === b[2]) continue
    if (joint === '&&' || ALWAYS_THERE.test(a[1]!)) return joint === '||'
  }
  return undefined
}

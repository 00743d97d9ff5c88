/** A plain scalar's value by the rules of the YAML 1.2 core schema. */
export function resolvePlain(text: string): string | number | boolean | null {
  if (text === '') return null
  const first = text.charCodeAt(0)
  if ((first >= 48 && first <= 57) || first === 43 || first === 45 || first === 46) return resolveNumber(text) ?? text
  if (text.length > 5) return text
  switch (text) {
    case '~':
    case 'null':
    case 'Null':
    case 'NULL':
      return null
    case 'true':
    case 'True':
    case 'TRUE':
      return true
    case 'false':
    case 'False':
    case 'FALSE':
      return false
    default:
      return text
  }
}

function resolveNumber(text: string): number | undefined {
  if (/^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/.test(text)) return Number(text)
  if (/^0x[\da-fA-F]+$/.test(text) || /^0o[0-7]+$/.test(text)) return Number(text)
  if (/^[-+]?\.(?:inf|Inf|INF)$/.test(text)) {
    return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  }
  return /^\.(?:nan|NaN|NAN)$/.test(text) ? Number.NaN : undefined
}

/**
 * How a YAML 1.1 parser reads a plain scalar that 1.2 reads differently, in words; undefined if both agree. Dates are
 * ignored: the relevant 1.1 parsers (Kubernetes, Go) keep them as text.
 */
export function readingUnderYaml11(text: string): string | undefined {
  if (text.length > 24) return undefined
  if (text.length < 4) {
    if (/^(?:y|Y|yes|Yes|YES|on|On|ON)$/.test(text)) return 'true'
    if (/^(?:n|N|no|No|NO|off|Off|OFF)$/.test(text)) return 'false'
  }
  const first = text.charCodeAt(0)
  if (!((first >= 48 && first <= 57) || first === 43 || first === 45 || first === 46)) return undefined
  if (/^[-+]?0[0-7]+$/.test(text)) {
    const octal = Number.parseInt(text.replace(/^[-+]?0/, ''), 8) * (text.startsWith('-') ? -1 : 1)
    return octal === Number(text) ? undefined : `the octal number ${octal}`
  }
  if (/^[-+]?0\d*[89]\d*$/.test(text)) return 'text'
  if (/^0o[0-7]+$/.test(text)) return 'text'
  if (/^[-+]?0b[01_]+$/.test(text)) return `the number ${Number.parseInt(text.replace(/[-+_]|0b/g, ''), 2)}`
  if (/^[-+]?\d[\d_]*(?:\.[\d_]*)?$/.test(text) && /\d_/.test(text))
    return `the number ${Number(text.replaceAll('_', ''))}`
  if (/^[-+]?[1-9]\d*(?::[0-5]?\d)+(?:\.\d*)?$/.test(text)) return `the base 60 number ${base60(text)}`
  return undefined
}

function base60(text: string): number {
  const negative = text.startsWith('-')
  const total = text
    .replace(/^[-+]/, '')
    .split(':')
    .reduce((sum, part) => sum * 60 + Number(part), 0)
  return negative ? -total : total
}

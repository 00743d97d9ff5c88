import { Failure } from '../../diagnostics/failure.ts'

/**
 * Splits a command into words as a shell does, with quotes and line continuations: for commands saved by browsers and
 * people. Expands nothing. Throws a Failure `input` for an unterminated quote.
 */
export function shellWords(text: string, name: string): readonly string[] {
  const words: string[] = []
  let rest = text.replace(/^(?:\s*#.*\n)+/, '').trim()
  while (rest !== '') {
    let word = ''
    while (rest !== '' && !/^\s/.test(rest)) {
      const part = PART.exec(rest)
      if (part === null) throw new Failure('input', `${name} is not a command: a quote in it does not end.`)
      word += textOf(part)
      rest = rest.slice(part[0].length)
    }
    words.push(word)
    rest = rest.replace(SPACE, '')
  }
  return words
}

/** White space between words, including line continuations. */
const SPACE = /^(?:\s|\\\r?\n)+/

const PART =
  /^(?:(?<continued>\\\r?\n)|'(?<single>[^']*)'|\$'(?<ansi>(?:[^'\\]|\\.)*)'|"(?<double>(?:[^"\\]|\\.)*)"|\\(?<escaped>.)|(?<plain>(?:[^\s'"\\$]|\$(?!'))+))/s

function textOf({ groups = {} }: RegExpExecArray): string {
  const { single, ansi, double, escaped, plain } = groups
  if (ansi !== undefined)
    return ansi.replaceAll(/\\(x[\da-f]{1,2}|u[\da-f]{1,4}|.)/gis, (_, code: string) => ansiChar(code))
  if (double !== undefined) return double.replaceAll(/\\([$`"\\\n])/g, (_, char: string) => (char === '\n' ? '' : char))
  return single ?? escaped ?? plain ?? ''
}

const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', 0: '\0' }

/** An escape in `$'…'`, which browsers use for what plain quotes cannot hold. */
function ansiChar(code: string): string {
  if (code.length > 1) return String.fromCharCode(Number.parseInt(code.slice(1), 16))
  return CONTROLS[code] ?? code
}

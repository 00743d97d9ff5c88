// Reads text protocol buffers without their schema: every field is a list of what it was given, scalars as tokens.

const TOKEN =
  /\s+|#[^\n]*|([A-Za-z_][\w.]*)|([-+]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?f?))|("(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*')|([-:{}[\]<>,;/])/gy

/** A scalar as it was written: a word, a number, or the bytes of a text. */
export class Scalar {
  constructor(kind, value) {
    this.kind = kind
    this.value = value
  }
}

/**
 * The message as a Map from field names to lists of Maps and Scalars. Throws a SyntaxError with its line.
 * long: one parser over one list of tokens.
 */
export function parseTextproto(text) {
  const tokens = [...tokensOf(text)]
  let at = 0
  const message = parseMessage(undefined)
  if (at < tokens.length) fail('a field')
  return message

  function parseMessage(end) {
    const out = new Map()
    while (at < tokens.length && tokens[at].text !== end) {
      const name = parseName()
      const values = out.get(name) ?? []
      out.set(name, values)
      if (tokens[at]?.text === ':') at++
      if (tokens[at]?.text === '[') parseList(values)
      else values.push(parseValue())
      if (tokens[at]?.text === ',' || tokens[at]?.text === ';') at++
    }
    return out
  }

  /** A plain name, or the type of an Any: `[type.googleapis.com/google.protobuf.Duration]`. */
  function parseName() {
    if (tokens[at]?.text !== '[') return take('word').text
    at++
    let name = ''
    while (tokens[at] && tokens[at].text !== ']') name += tokens[at++].text
    at++
    return `[${name}]`
  }

  function parseList(values) {
    at++
    while (tokens[at] && tokens[at].text !== ']') {
      values.push(parseValue())
      if (tokens[at]?.text === ',') at++
    }
    at++
  }

  function parseValue() {
    const token = tokens[at] ?? fail('a value')
    if (token.text === '{' || token.text === '<') {
      at++
      const message = parseMessage(token.text === '{' ? '}' : '>')
      at++
      return message
    }
    if (token.text === '-') {
      at++
      return new Scalar('word', `-${take('word').text}`)
    }
    at++
    if (token.kind !== 'string') return new Scalar(token.kind, token.text)
    const parts = [unquote(token.text)]
    while (tokens[at]?.kind === 'string') parts.push(unquote(tokens[at++].text))
    return new Scalar('string', Buffer.concat(parts))
  }

  function take(kind) {
    if (tokens[at]?.kind !== kind) fail(`a ${kind}`)
    return tokens[at++]
  }

  function fail(wanted) {
    const { text: found = 'the end', start = text.length } = tokens[at] ?? {}
    throw new SyntaxError(`line ${text.slice(0, start).split('\n').length}: ${wanted} expected, not ${found}`)
  }
}

function* tokensOf(text) {
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.length) {
    const start = TOKEN.lastIndex
    const found = TOKEN.exec(text)
    if (!found) throw new SyntaxError(`line ${text.slice(0, start).split('\n').length}: not a token`)
    const [whole, word, number, string, sign] = found
    if (word) yield { kind: 'word', text: whole, start }
    else if (number) yield { kind: 'number', text: whole, start }
    else if (string) yield { kind: 'string', text: whole, start }
    else if (sign) yield { kind: 'sign', text: whole, start }
  }
}

const SHORT = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 }

function unquote(literal) {
  const out = []
  const parts = /\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))|[^\\]+/g
  for (const [whole, octal, hex, short, long, sign] of literal.slice(1, -1).matchAll(parts)) {
    if (octal) out.push(Buffer.of(Number.parseInt(octal, 8) & 0xff))
    else if (hex) out.push(Buffer.of(Number.parseInt(hex, 16)))
    else if (short || long) out.push(Buffer.from(String.fromCodePoint(Number.parseInt(short ?? long, 16))))
    else if (sign) out.push(sign in SHORT ? Buffer.of(SHORT[sign]) : Buffer.from(sign))
    else out.push(Buffer.from(whole))
  }
  return Buffer.concat(out)
}

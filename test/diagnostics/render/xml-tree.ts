export interface XmlElement {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: readonly XmlElement[]
  readonly text: string
}

/** A strict reader of the XML that reports are made of: throws where a real parser would. */
export function parseXml(text: string): XmlElement {
  const body = text.replace(/^<\?xml version="1\.0" encoding="UTF-8"\?>\n/, '')
  if (body === text) throw new Error('no XML declaration')
  const open: { name: string; attributes: Record<string, string>; children: XmlElement[]; text: string }[] = [
    { name: '', attributes: {}, children: [], text: '' },
  ]
  const token = /<\/([\w-]+)>|<([\w-]+)((?: [\w-]+="[^"<]*")*)(\/?)>|([^<]+)/y
  while (token.lastIndex < body.length) {
    const at = token.lastIndex
    const match = token.exec(body)
    if (match === null) throw new Error(`not well formed at: ${body.slice(at, at + 60)}`)
    const [, closing, opening, attributes = '', empty, content] = match
    const top = open.at(-1)!
    if (content !== undefined) top.text += decode(content)
    else if (opening !== undefined) {
      const pairs = [...attributes.matchAll(/ ([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name, decode(value!)])
      open.push({ name: opening, attributes: Object.fromEntries(pairs), children: [], text: '' })
    } else if (closing !== top.name) throw new Error(`</${closing}> closes <${top.name}>`)
    if (closing !== undefined || empty === '/') {
      const done = open.pop()!
      open.at(-1)!.children.push(done)
    }
  }
  if (open.length !== 1 || open[0]!.children.length !== 1) throw new Error('not one root element')
  return open[0]!.children[0]!
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function decode(text: string): string {
  if (/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(text))
    throw new Error('a character that XML cannot hold')
  return text.replace(/&(?:#(\d+);|(\w+);)?/g, (whole, code, name) => {
    const char = code !== undefined ? String.fromCodePoint(Number(code)) : ENTITIES[name ?? '']
    if (char === undefined) throw new Error(`a bare ampersand or unknown entity: ${whole}`)
    return char
  })
}

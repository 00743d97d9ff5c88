const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const REQUEST = new RegExp(`^${TOKEN} [!-~]+ HTTP/1\\.1$`)
const RESPONSE = /^HTTP\/1\.1 [1-9]\d\d [\t -~\x80-\xff]*$/
const FIELD = new RegExp(`^${TOKEN}:[ \\t]*[\\t -~\\x80-\\xff]*$`)

type State = 'head' | 'bytes' | 'size' | 'data' | 'data end' | 'trailers' | 'until close' | 'switched' | 'broken'

/**
 * Reads HTTP/1 from a gateway without any tolerance, and knows nothing of how the gateway reads it: what is not exactly
 * a message is a finding.
 */
export class StrictReader {
  readonly #kind: 'requests' | 'responses'
  readonly #onMessage: (head: string) => void
  #text = ''
  #state: State = 'head'
  #left = 0
  problem: string | undefined

  /** `onMessage` hears of each head. */
  constructor(kind: 'requests' | 'responses', onMessage: (head: string) => void) {
    this.#kind = kind
    this.#onMessage = onMessage
  }

  /** Nothing has begun that is not complete. */
  get resting(): boolean {
    return this.#state === 'head' && this.#text === ''
  }

  /** Every character one byte. `bodiless`: the answer to HEAD. */
  read(bytes: string, bodiless = false): void {
    this.#text += bytes
    while (this.problem === undefined && this.#step(bodiless)) {
      // Until more has to come.
    }
  }

  #step(bodiless: boolean): boolean {
    switch (this.#state) {
      case 'head':
        return this.#head(bodiless)
      case 'bytes':
      case 'data': {
        const size = Math.min(this.#left, this.#text.length)
        this.#text = this.#text.slice(size)
        this.#left -= size
        if (this.#left > 0) return false
        this.#state = this.#state === 'bytes' ? 'head' : 'data end'
        return this.#text !== '' || this.#state === 'data end'
      }
      case 'size': {
        const line = this.#line()
        if (line === undefined) return false
        if (!/^[0-9a-f]+$/i.test(line)) return this.#fail(`the chunk size ${show(line)}`)
        this.#left = Number.parseInt(line, 16)
        this.#state = this.#left === 0 ? 'trailers' : 'data'
        return true
      }
      case 'data end': {
        const line = this.#line()
        if (line === undefined) return false
        if (line !== '') return this.#fail(`${show(line)} after a chunk`)
        this.#state = 'size'
        return true
      }
      case 'trailers': {
        const line = this.#line()
        if (line === undefined) return false
        if (line === '') this.#state = 'head'
        else if (!FIELD.test(line)) return this.#fail(`the trailer ${show(line)}`)
        return true
      }
      default:
        this.#text = ''
        return false
    }
  }

  #head(bodiless: boolean): boolean {
    const end = this.#text.indexOf('\r\n\r\n')
    if (end < 0) return false
    const head = this.#text.slice(0, end)
    this.#text = this.#text.slice(end + 4)
    const [first = '', ...lines] = head.split('\r\n')
    if (!(this.#kind === 'requests' ? REQUEST : RESPONSE).test(first))
      return this.#fail(`the first line ${show(first)}`)
    const wrong = lines.find(line => !FIELD.test(line))
    if (wrong !== undefined) return this.#fail(`the field ${show(wrong)}`)
    const values = (name: string) =>
      lines.filter(line => line.toLowerCase().startsWith(`${name}:`)).map(line => line.slice(name.length + 1).trim())
    const [lengths, codings] = [values('content-length'), values('transfer-encoding')]
    if (lengths.length + codings.length > 1) return this.#fail(`two framings in ${show(head)}`)
    if (lengths.some(each => !/^\d+$/.test(each)) || codings.some(each => each !== 'chunked'))
      return this.#fail(`the framing of ${show(head)}`)
    if (this.#kind === 'requests' && values('host').length !== 1) return this.#fail(`the hosts of ${show(head)}`)
    this.#onMessage(head)
    const status = Number(first.slice(9, 12))
    if (this.#kind === 'responses' && status < 200 && status !== 101) this.#state = 'head'
    else if (status === 101 || (this.#kind === 'requests' && /^upgrade:/im.test(head))) this.#state = 'switched'
    else if (this.#kind === 'responses' && (bodiless || status === 204 || status === 304)) this.#state = 'head'
    else if (codings.length > 0) this.#state = 'size'
    else if (lengths.length > 0) {
      this.#left = Number(lengths[0])
      this.#state = this.#left > 0 ? 'bytes' : 'head'
    } else this.#state = this.#kind === 'requests' ? 'head' : 'until close'
    return this.#text !== ''
  }

  #line(): string | undefined {
    const end = this.#text.indexOf('\r\n')
    if (end < 0) return undefined
    const line = this.#text.slice(0, end)
    this.#text = this.#text.slice(end + 2)
    return line
  }

  #fail(what: string): false {
    this.problem = `not HTTP: ${what}`
    this.#state = 'broken'
    return false
  }
}

function show(text: string): string {
  return JSON.stringify(text.slice(0, 300))
}

import { resolve } from 'node:path'
import { unescape as decoded } from 'node:querystring'
import { cannotRead, Failure } from '../../diagnostics/failure.ts'
import { readAnyFile } from '../../files/read-file.ts'

/** A request described by curl options. */
export interface CurlRequest {
  readonly method: string
  readonly url: URL
  /** Only a path was given; the URL's host is localhost. */
  readonly hostless: boolean
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer | undefined
  readonly insecure: boolean
  /** The address to connect to instead of the URL's. */
  readonly connectTo: { readonly host: string; readonly port: number } | undefined
}

interface CurlPlace {
  readonly cwd: string
  /** A whole command line, as an example for error messages. */
  readonly example: string
}

/**
 * `[curl] [METHOD] URL [options]`, in any order. Options that affect only curl's behavior are ignored. An unknown
 * option that would change the request is a Failure `usage`, an unreadable file a Failure `input`.
 */
export function parseCurl(words: readonly string[], place: CurlPlace): CurlRequest {
  const parser = new Parser(words[0] === 'curl' ? words.slice(1) : words, place)
  parser.read()
  return parser.request()
}

/** Applies an option with its value, which is empty for options without one. */
type Effect = (parser: Parser, value: string) => void

const NOTHING: Effect = () => {}

const VALUED: Readonly<Record<string, Effect>> = {
  '-X, --request': (p, value) => p.setMethod(value),
  '-H, --header': (p, value) => p.addHeader(value),
  '-d, --data, --data-ascii': (p, value) => p.addData(p.fileOr(value, 'text')),
  '--data-raw': (p, value) => p.addData(Buffer.from(value)),
  '--data-binary': (p, value) => p.addData(p.fileOr(value, 'bytes')),
  '--data-urlencode': (p, value) => p.addData(Buffer.from(encoded(value, p))),
  '--json': (p, value) => p.addJson(p.fileOr(value, 'bytes')),
  '-u, --user': (p, value) => p.addField('authorization', `Basic ${Buffer.from(value).toString('base64')}`),
  '--oauth2-bearer': (p, value) => p.addField('authorization', `Bearer ${value}`),
  '-A, --user-agent': (p, value) => p.addField('user-agent', value),
  '-e, --referer': (p, value) => p.addField('referer', value),
  '-b, --cookie': (p, value) => p.addCookie(value),
  '--url': (p, value) => p.addWord(value),
  '--connect-to': (p, value) => p.connect(value),
  '--resolve': (p, value) => p.connect(value.replace(/^([^:]*:\d*):(.*)$/, '$1:$2:')),
  '-o, --output': NOTHING,
  '-w, --write-out': NOTHING,
  '-D, --dump-header': NOTHING,
  '-m, --max-time': NOTHING,
  '--connect-timeout': NOTHING,
  '--retry': NOTHING,
  '--cacert': NOTHING,
}

const PLAIN: Readonly<Record<string, Effect>> = {
  '-G, --get': p => p.dataInQuery(),
  '-I, --head': p => p.setMethod('HEAD'),
  '-k, --insecure': p => p.acceptAll(),
  '--compressed': p => p.addField('accept-encoding', 'deflate, gzip, br, zstd'),
  '-s, --silent': NOTHING,
  '-S, --show-error': NOTHING,
  '-v, --verbose': NOTHING,
  '-i, --include, --show-headers': NOTHING,
  '-f, --fail': NOTHING,
  '--fail-with-body': NOTHING,
  '-L, --location': NOTHING,
  '-N, --no-buffer': NOTHING,
  '-g, --globoff': NOTHING,
  '-#, --progress-bar': NOTHING,
  '--http1.1': NOTHING,
  '--http2': NOTHING,
}

/** Indexed by each option name. */
function byName(table: Readonly<Record<string, Effect>>): ReadonlyMap<string, Effect> {
  return new Map(Object.entries(table).flatMap(([names, effect]) => names.split(', ').map(name => [name, effect])))
}

const WITH_VALUE = byName(VALUED)
const WITHOUT_VALUE = byName(PLAIN)

class Parser {
  readonly #words: readonly string[]
  readonly #place: CurlPlace
  readonly #positional: string[] = []
  readonly #headers: [string, string][] = []
  readonly #defaults: [string, string][] = []
  #at = 0
  #method: string | undefined
  #body: Buffer | undefined
  #inQuery = false
  #insecure = false
  #connectTo: string | undefined

  constructor(words: readonly string[], place: CurlPlace) {
    this.#words = words
    this.#place = place
  }

  read(): void {
    while (this.#at < this.#words.length) {
      const word = this.#words[this.#at++] as string
      if (word === '-' || !word.startsWith('-')) this.#positional.push(word)
      else if (word.startsWith('--')) this.#option(word, word)
      else this.#shortOptions(word)
    }
  }

  request(): CurlRequest {
    const [first = '', second, ...rest] = this.#positional
    if (rest[0] !== undefined) throw this.wrong(`${rest[0]} is one word too many.`)
    const [method, address] = second === undefined ? [undefined, first] : [first, second]
    if (address === '' || /^[A-Z]+$/.test(address)) throw this.wrong('A request needs a URL.')
    if (method !== undefined && !/^[A-Za-z]+$/.test(method)) throw this.wrong(`${method} is not a method.`)
    const url = this.#url(address)
    this.#logIn(url)
    const body = this.#inQuery ? undefined : this.#body
    if (this.#inQuery && this.#body) url.search += `${url.search === '' ? '?' : '&'}${this.#body}`
    const given = new Set(this.#headers.map(([name]) => name.toLowerCase()))
    const defaults = [...this.#defaults, ...(body ? [FORM] : [])].filter(([name], i, all) => {
      return !given.has(name) && all.findIndex(each => each[0] === name) === i
    })
    return {
      method: (method ?? this.#method ?? (body ? 'POST' : 'GET')).toUpperCase(),
      url,
      hostless: address.startsWith('/'),
      headers: [...this.#headers, ...defaults],
      body,
      insecure: this.#insecure,
      connectTo: this.#connectTo === undefined ? undefined : this.#connection(this.#connectTo, url),
    }
  }

  setMethod(method: string): void {
    this.#method = method
  }

  addWord(word: string): void {
    this.#positional.push(word)
  }

  /** Text is sent as UTF-8, and gateways read header bytes one by one. */
  addField(name: string, value: string): void {
    if (CONTROL.test(value)) throw this.wrong(`The value of ${name} has a control character.`)
    this.#headers.push([name, Buffer.from(value).toString('latin1')])
  }

  addHeader(text: string): void {
    const [, name, value] = FIELD.exec(text) ?? []
    if (name === undefined || value === undefined) throw this.wrong(`${text} is not a header: write NAME: VALUE.`)
    this.addField(name, value)
  }

  addCookie(text: string): void {
    if (!text.includes('=')) throw this.wrong(`${text} would be a file of cookies: write NAME=VALUE.`)
    this.addField('cookie', text)
  }

  addData(more: Buffer): void {
    this.#body = this.#body === undefined ? more : Buffer.concat([this.#body, Buffer.from('&'), more])
  }

  addJson(more: Buffer): void {
    this.#body = this.#body === undefined ? more : Buffer.concat([this.#body, more])
    this.#defaults.push(['content-type', 'application/json'], ['accept', 'application/json'])
  }

  dataInQuery(): void {
    this.#inQuery = true
  }

  acceptAll(): void {
    this.#insecure = true
  }

  connect(text: string): void {
    this.#connectTo = text
  }

  /** `@FILE` or the text itself. As in curl, a file read as text loses its line breaks. */
  fileOr(text: string, as: 'text' | 'bytes'): Buffer {
    if (!text.startsWith('@')) return Buffer.from(text)
    const bytes = this.readFile(text.slice(1))
    return as === 'bytes' ? bytes : Buffer.from(bytes.filter(byte => byte !== 10 && byte !== 13 && byte !== 0))
  }

  readFile(name: string): Buffer {
    if (name === '-') throw this.wrong('@- would be stdin, which is not read here: name a file.')
    try {
      return readAnyFile(resolve(this.#place.cwd, name))
    } catch (error) {
      throw cannotRead(name, error)
    }
  }

  wrong(message: string): Failure {
    return new Failure('usage', message, { help: `For example: ${this.#place.example}` })
  }

  /** `-sSL`, `-XPOST`: letters up to one that takes the rest as its value. */
  #shortOptions(word: string): void {
    for (let i = 1; i < word.length; i++) {
      const name = `-${word[i]}`
      const rest = word.slice(i + 1)
      if (WITH_VALUE.has(name) && rest !== '') {
        WITH_VALUE.get(name)?.(this, rest)
        return
      }
      this.#option(name, word)
    }
  }

  #option(name: string, word: string): void {
    const plain = WITHOUT_VALUE.get(name)
    if (plain) {
      plain(this, '')
      return
    }
    const effect = WITH_VALUE.get(name)
    if (effect === undefined) throw this.wrong(`${word} is not an option that gwctl knows.`)
    const value = this.#words[this.#at++]
    if (value === undefined) throw this.wrong(`${name} needs a value.`)
    effect(this, value)
  }

  #url(address: string): URL {
    const complete = address.startsWith('/')
      ? `http://localhost${address}`
      : /^\w+:\/\//.test(address)
        ? address
        : `http://${address}`
    const url = URL.parse(complete)
    if (url === null || !/^https?:$/.test(url.protocol)) throw this.wrong(`${address} is not an HTTP URL.`)
    return url
  }

  /** A user in the URL is sent only as a credential. */
  #logIn(url: URL): void {
    const { username, password } = url
    if (username === '' && password === '') return
    const credential = Buffer.from(`${decoded(username)}:${decoded(password)}`)
    this.#defaults.push(['authorization', `Basic ${credential.toString('base64')}`])
    Object.assign(url, { username: '', password: '' })
  }

  /** `HOST1:PORT1:HOST2:PORT2`; an empty part matches any, or stands for the URL's own. */
  #connection(text: string, url: URL): CurlRequest['connectTo'] {
    const [, host1 = '', port1 = '', host2 = '', port2 = ''] = /^([^:]*):(\d*):(\[.*\]|[^:]*):(\d*)$/.exec(text) ?? []
    if (host2 === '' && port2 === '') throw this.wrong(`${text}: write HOST1:PORT1:HOST2:PORT2.`)
    const own = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
    if ((host1 !== '' && host1 !== url.hostname) || (port1 !== '' && Number(port1) !== own)) return undefined
    return { host: (host2 || url.hostname).replace(/^\[(.*)\]$/, '$1'), port: Number(port2) || own }
  }
}

const FIELD = /^([!#$%&'*+.^_`|~\w-]+):\s*(.*)$/s
/** It would end the header or the head. */
const CONTROL = /[^\t\u0020-\u007e\u0080-\u{10ffff}]/u

const FORM: [string, string] = ['content-type', 'application/x-www-form-urlencoded']

/** `TEXT`, `=TEXT`, `NAME=TEXT`, `@FILE`, `NAME@FILE`: everything but the name is encoded. */
function encoded(value: string, parser: Parser): string {
  const [, name = '', sign, text = ''] = /^([^=@]*)([=@])(.*)$/s.exec(value) ?? [undefined, '', '=', value]
  const plain = sign === '@' ? parser.readFile(text).toString() : text
  return `${name === '' ? '' : `${name}=`}${encodeURIComponent(plain)}`
}

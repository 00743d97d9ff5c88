// ASN.1 in DER, as far as X.509 certificates need it (ITU-T X.690).

/** One element: its tag, and the range of its content. */
export interface Element {
  readonly tag: number
  readonly start: number
  readonly end: number
}

export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8: 0x0c,
  sequence: 0x30,
  set: 0x31,
  utcTime: 0x17,
  generalizedTime: 0x18,
} as const

/** The elements within a range. Throws RangeError for anything but DER. */
export function elements(der: Buffer, start: number, end: number): readonly Element[] {
  const out: Element[] = []
  for (let at = start; at < end; ) {
    const tag = der.readUInt8(at)
    const first = der.readUInt8(at + 1)
    const size = first < 0x80 ? 0 : first & 0x7f
    const length = size === 0 ? first : der.readUIntBE(at + 2, size)
    const from = at + 2 + size
    at = from + length
    if (at > end) throw new RangeError('an element is longer than what contains it')
    out.push({ tag, start: from, end: at })
  }
  return out
}

export function encode(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content)
  const size = body.length < 0x80 ? [] : [...Buffer.from(body.length.toString(16).padStart(6, '0'), 'hex')]
  while (size[0] === 0) size.shift()
  const length = size.length === 0 ? [body.length] : [0x80 | size.length, ...size]
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}

export function sequence(...parts: readonly Buffer[]): Buffer {
  return encode(TAG.sequence, ...parts)
}

/** `1.2.840` */
export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const part of rest) {
    const groups = [part & 0x7f]
    for (let left = part >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80)
    bytes.push(...groups)
  }
  return encode(TAG.oid, Buffer.from(bytes))
}

/** `time`: ms. Years from 2050 have another form (RFC 5280 section 4.1.2.5). */
export function encodeTime(time: number): Buffer {
  const text = new Date(time).toISOString().replaceAll(/\.\d+|[-T:]/g, '')
  return text < '2050'
    ? encode(TAG.utcTime, Buffer.from(text.slice(2)))
    : encode(TAG.generalizedTime, Buffer.from(text))
}

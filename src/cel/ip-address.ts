import { ipVersion } from '../http/ip-version.ts'
import { CelFailure } from './failure.ts'

/** An IP address, by value. */
export class IpAddress {
  readonly family: 4 | 6
  readonly bits: bigint

  constructor(family: 4 | 6, bits: bigint) {
    this.family = family
    this.bits = bits
  }

  /** Undefined unless the text is an address; zone names (`fe80::1%eth0`) are rejected. */
  static parse(text: string): IpAddress | undefined {
    const family = text.includes('%') ? 0 : ipVersion(text)
    if (family === 4) return new IpAddress(4, bitsOf4(text))
    return family === 6 ? new IpAddress(6, bitsOf6(text)) : undefined
  }

  /** The IPv4 address of an IPv4-mapped IPv6 one (`::ffff:10.0.0.1`), otherwise this one. */
  unmapped(): IpAddress {
    return this.family === 6 && this.bits >> 32n === 0xffffn ? new IpAddress(4, this.bits & 0xffffffffn) : this
  }

  inRange(base: bigint, prefix: number, family: 4 | 6): boolean {
    const shift = BigInt((family === 4 ? 32 : 128) - prefix)
    return this.family === family && this.bits >> shift === base >> shift
  }

  toString(): string {
    return this.family === 4 ? text4(this.bits) : text6(this.bits)
  }
}

/** An address with a prefix length. It keeps the host bits as written. */
export class Cidr {
  readonly address: IpAddress
  readonly prefix: number

  constructor(address: IpAddress, prefix: number) {
    this.address = address
    this.prefix = prefix
  }

  static parse(text: string): Cidr | undefined {
    const slash = text.lastIndexOf('/')
    if (slash < 0) return undefined
    const address = IpAddress.parse(text.slice(0, slash))
    const length = text.slice(slash + 1)
    if (!address || !/^(?:0|[1-9][0-9]{0,2})$/.test(length)) return undefined
    const prefix = Number(length)
    return prefix <= (address.family === 4 ? 32 : 128) ? new Cidr(address, prefix) : undefined
  }

  /** An IPv4-mapped IPv6 address is in an IPv4 range if its IPv4 address is. */
  holds(address: IpAddress): boolean {
    const candidate = this.address.family === 4 ? address.unmapped() : address
    return candidate.inRange(this.address.bits, this.prefix, this.address.family)
  }

  holdsRange(other: Cidr): boolean {
    return other.prefix >= this.prefix && other.address.inRange(this.address.bits, this.prefix, this.address.family)
  }

  masked(): Cidr {
    const shift = BigInt((this.address.family === 4 ? 32 : 128) - this.prefix)
    return new Cidr(new IpAddress(this.address.family, (this.address.bits >> shift) << shift), this.prefix)
  }

  toString(): string {
    return `${this.address}/${this.prefix}`
  }
}

function bitsOf4(text: string): bigint {
  return text.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n)
}

function bitsOf6(text: string): bigint {
  const dotted = /[0-9.]+$/.exec(text)?.[0]
  let tail = text
  if (dotted?.includes('.')) {
    const low = bitsOf4(dotted)
    tail = `${text.slice(0, -dotted.length)}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`
  }
  const [head = '', rest] = tail.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = rest === undefined || rest === '' ? [] : rest.split(':')
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right]
  if (groups.length !== 8) throw new CelFailure('invalid_address')
  return groups.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n)
}

function text4(bits: bigint): string {
  return [24n, 16n, 8n, 0n].map(shift => ((bits >> shift) & 0xffn).toString()).join('.')
}

/** RFC 5952: lower case, the longest run of zero groups shortened. */
function text6(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, i) => ((bits >> BigInt(112 - 16 * i)) & 0xffffn).toString(16))
  let start = -1
  let length = 1
  for (let i = 0; i < 8; i++) {
    let end = i
    while (end < 8 && groups[end] === '0') end++
    if (end - i > length) {
      start = i
      length = end - i
    }
    if (end > i) i = end - 1
  }
  if (start < 0) return groups.join(':')
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + length).join(':')}`
}

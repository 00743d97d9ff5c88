/** One frame as it is on the wire. */
export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A head without compression: every field is written out (RFC 7541 section 6.2.2). */
export function fields(list: readonly string[]): Buffer {
  const text = (value: string) => Buffer.concat([prefixed(value.length), Buffer.from(value, 'latin1')])
  const parts: Buffer[] = []
  for (let i = 0; i < list.length; i += 2) parts.push(Buffer.from([0]), text(list[i]!), text(list[i + 1]!))
  return Buffer.concat(parts)
}

/** A number behind a prefix of seven bits (RFC 7541 section 5.1). */
function prefixed(value: number): Buffer {
  if (value < 127) return Buffer.from([value])
  const out = [127]
  let left = value - 127
  for (; left >= 128; left >>= 7) out.push((left & 127) | 128)
  return Buffer.from([...out, left])
}

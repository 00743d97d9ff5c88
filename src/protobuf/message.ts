import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

// Messages by a table of their fields: the numbers of the .proto file, under names of ours. What a table does not name
// is skipped when it is read.

/** How values of one type are written and read; `G`: what may be given where that is less than what is read. */
export interface Kind<T, G = T> {
  readonly wire: WireType
  write(w: BinaryWriter, value: G): void
  /** `depth`: how many messages it stands in. */
  read(r: BinaryReader, depth: number): T
}

const kind = <T>(
  wire: WireType,
  write: (w: BinaryWriter, value: T) => void,
  read: (r: BinaryReader) => T,
): Kind<T> => ({ wire, write, read })

/** Lone surrogates, which UTF-8 cannot hold, become U+FFFD. */
export const text = kind<string>(
  WireType.LengthDelimited,
  (w, value) => void w.string(value.toWellFormed()),
  r => r.string(),
)
export const bytes = kind<Uint8Array>(
  WireType.LengthDelimited,
  (w, value) => void w.bytes(value),
  r => r.bytes(),
)
export const bool = kind<boolean>(
  WireType.Varint,
  (w, value) => void w.bool(value),
  r => r.bool(),
)
export const int32 = kind<number>(
  WireType.Varint,
  (w, value) => void w.int32(value),
  r => r.int32(),
)
export const uint32 = kind<number>(
  WireType.Varint,
  (w, value) => void w.uint32(value),
  r => r.uint32(),
)
/** Beyond what a number holds, the nearest one. */
export const int64 = kind<number>(
  WireType.Varint,
  (w, value) => void w.int64(value),
  r => Number(r.int64()),
)
export const uint64 = kind<number>(
  WireType.Varint,
  (w, value) => void w.uint64(value),
  r => Number(r.uint64()),
)
export const double = kind<number>(
  WireType.Bit64,
  (w, value) => void w.double(value),
  r => r.double(),
)

/** One field of a table; `T` is what the message holds under its name. */
interface FieldOf<T, G = T> {
  readonly no: number
  write(w: BinaryWriter, value: G): void
  read(r: BinaryReader, wire: WireType, depth: number, before: T | undefined): T
  /** What stands for a field that did not come; undefined: it is left out. */
  readonly empty: (() => T) | undefined
}

/** A field that may be absent. Zeros and empty texts are written too: whoever leaves one out means its absence. */
export function field<T, G>(no: number, of: Kind<T, G>): FieldOf<T, G> & { readonly empty: undefined } {
  return {
    no,
    empty: undefined,
    write(w, value) {
      w.tag(no, of.wire)
      of.write(w, value)
    },
    read: (r, wire, depth) => read(of, r, wire, depth),
  }
}

/** A list; packed ones of numbers are not among those that are read here. */
export function repeated<T, G>(
  no: number,
  of: Kind<T, G>,
): FieldOf<readonly T[], readonly G[]> & { readonly empty: () => readonly T[] } {
  return {
    no,
    empty: () => [],
    write(w, values) {
      for (const value of values) {
        w.tag(no, of.wire)
        of.write(w, value)
      }
    },
    read(r, wire, depth, before) {
      const values = (before as T[] | undefined) ?? []
      values.push(read(of, r, wire, depth))
      return values
    },
  }
}

type Entries<T> = Readonly<Record<string, T>>

/** `map<string, T>`, without a prototype: whoever sends may call a key `__proto__`. */
export function mapOf<T, G>(
  no: number,
  of: Kind<T, G>,
): FieldOf<Entries<T>, Entries<G>> & { readonly empty: () => Entries<T> } {
  const entry = message({ key: field(1, text), value: field(2, of) })
  return {
    no,
    empty: () => Object.create(null) as Entries<T>,
    write(w, entries) {
      for (const [key, value] of Object.entries(entries)) {
        w.tag(no, WireType.LengthDelimited).fork()
        text.write(w.tag(1, WireType.LengthDelimited), key)
        of.write(w.tag(2, of.wire), value)
        w.join()
      }
    },
    read(r, wire, depth, before) {
      const entries = (before ?? Object.create(null)) as Record<string, T>
      const { key = '', value } = read(entry, r, wire, depth)
      entries[key] = value ?? of.read(new BinaryReader(ZEROS), depth)
      return entries
    },
  }
}
/** An entry of a map may come without its value. */
const ZEROS = new Uint8Array(8)

// biome-ignore lint/suspicious/noExplicitAny: a table holds fields of every type; each is read through its own name
type Table = Readonly<Record<string, FieldOf<any, any>>>
type Read<F> = F extends FieldOf<infer T, infer _> ? T : never
type Given<F> = F extends FieldOf<infer _, infer G> ? G : never
type Absent<T extends Table> = { [K in keyof T]: T[K]['empty'] extends undefined ? K : never }[keyof T]
/** What is decoded: lists and maps are always there. */
type Decoded<T extends Table> = {
  readonly [K in Exclude<keyof T, Absent<T>>]: Read<T[K]>
} & { readonly [K in Absent<T>]?: Read<T[K]> }
/** What is encoded: anything may be left out. */
type Encoded<T extends Table> = { readonly [K in keyof T]?: Given<T[K]> | undefined }

/** What is read of a kind of message. */
export type Message<K> = K extends Kind<infer T, infer _> ? T : never
/** What may be given to write one. */
export type ToWrite<K> = K extends Kind<infer _, infer G> ? G : never

export interface MessageKind<T extends Table> extends Kind<Decoded<T>, Encoded<T>> {
  encode(value: Encoded<T>): Uint8Array
  /** Throws an Error for what is not such a message. */
  decode(from: Uint8Array): Decoded<T>
}

/** Deeper ones are not read: whoever sends them wants the reader's stack. */
const MAX_DEPTH = 64

export function message<const T extends Table>(table: T): MessageKind<T> {
  const fields = Object.entries(table)
  const byNumber = new Map(fields.map(([name, each]) => [each.no, [name, each] as const]))
  function writeFields(w: BinaryWriter, value: Encoded<T>): void {
    for (const [name, each] of fields) {
      const own = value[name]
      if (own !== undefined) each.write(w, own)
    }
  }
  function readFields(r: BinaryReader, end: number, depth: number): Decoded<T> {
    if (depth > MAX_DEPTH) throw new Error('messages are nested too deeply')
    const out: Record<string, unknown> = {}
    while (r.pos < end) {
      const [no, wire] = r.tag()
      const found = byNumber.get(no)
      if (found) out[found[0]] = found[1].read(r, wire, depth, out[found[0]])
      else r.skip(wire, no)
    }
    if (r.pos !== end) throw new Error('a message is cut off')
    for (const [name, { empty }] of fields) if (empty && out[name] === undefined) out[name] = empty()
    return out as Decoded<T>
  }
  return {
    wire: WireType.LengthDelimited,
    write(w, value) {
      w.fork()
      writeFields(w, value)
      w.join()
    },
    read(r, depth) {
      const length = r.uint32()
      const end = r.pos + length
      if (end > r.len) throw new Error('a message is cut off')
      return readFields(r, end, depth + 1)
    },
    encode(value) {
      const w = new BinaryWriter()
      writeFields(w, value)
      return w.finish()
    },
    decode(from) {
      const r = new BinaryReader(from)
      return readFields(r, r.len, 0)
    },
  }
}

/** A message that holds messages of its own kind, or is used before it is defined. */
export function later<T>(of: () => Kind<T>): Kind<T> {
  return {
    wire: WireType.LengthDelimited,
    write: (w, value) => of().write(w, value),
    read: (r, depth) => of().read(r, depth),
  }
}

function read<T, G>(of: Kind<T, G>, r: BinaryReader, wire: WireType, depth: number): T {
  if (wire !== of.wire) throw new Error('a field has another type than it should')
  return of.read(r, depth)
}

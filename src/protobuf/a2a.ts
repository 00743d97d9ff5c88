import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { field, int32, message, text } from './message.ts'

// What agents answer over gRPC: a2a.proto of A2A 0.3 (package `a2a.v1`) and of 1.0 (`lf.a2a.v1`).

const status = message({ state: field(1, int32) })
const task = message({ id: field(1, text), status: field(3, status) })
const statusUpdate = message({ taskId: field(1, text), status: field(3, status) })
const artifactUpdate = message({ taskId: field(1, text) })
const reply = message({
  task: field(1, task),
  statusUpdate: field(3, statusUpdate),
  artifactUpdate: field(4, artifactUpdate),
})

/** `TaskState`, by number. */
const STATES = [
  'SUBMITTED',
  'WORKING',
  'COMPLETED',
  'FAILED',
  'CANCELED',
  'INPUT_REQUIRED',
  'REJECTED',
  'AUTH_REQUIRED',
]

export interface TaskFacts {
  readonly task: string | undefined
  readonly state: string | undefined
}

/** What a reply says of its task; `whole`: it is the task. Throws an Error for what is no such message. */
export function taskFacts(from: Uint8Array, whole: boolean): TaskFacts {
  const {
    task: own,
    statusUpdate: update,
    artifactUpdate: piece,
  } = whole ? { task: task.decode(from) } : reply.decode(from)
  const name = STATES[((own ?? update)?.status?.state ?? 0) - 1]
  return { task: own?.id ?? update?.taskId ?? piece?.taskId, state: name === undefined ? name : `TASK_STATE_${name}` }
}

/** Which fields of an AgentCard hold addresses, by number. */
interface CardFields {
  readonly url?: number
  readonly interfaces: number
  readonly signatures: number
}

const CARDS = {
  '0.3': { url: 3, interfaces: 15, signatures: 17 },
  '1.0': { interfaces: 3, signatures: 13 },
} as const satisfies Record<string, CardFields>
const preferred = message({ transport: field(14, text) })
const bound = message({ binding: field(2, text) })
const INTERFACE_URL = 1

/** The card with other addresses and without signatures; all else, known or not, stays as it is. */
export function cardWith(
  card: Uint8Array,
  version: keyof typeof CARDS,
  rewrite: (url: string, binding: string | undefined) => string,
): Uint8Array {
  const fields: CardFields = CARDS[version]
  return edited(card, (no, w, value) => {
    if (no === fields.signatures) return true
    if (no === fields.interfaces) {
      const { binding } = bound.decode(value())
      w.tag(no, WireType.LengthDelimited).bytes(
        edited(
          value(),
          (each, inner, url) => each === INTERFACE_URL && writeText(inner, each, rewrite(textOf(url()), binding)),
        ),
      )
      return true
    }
    return no === fields.url && writeText(w, no, rewrite(textOf(value()), preferred.decode(card).transport))
  })
}

/** Copies a message field by field; `edit` is true for one that it has written itself, or left out. */
function edited(from: Uint8Array, edit: (no: number, w: BinaryWriter, value: () => Uint8Array) => boolean): Uint8Array {
  const r = new BinaryReader(from)
  const w = new BinaryWriter()
  while (r.pos < r.len) {
    const start = r.pos
    const [no, wire] = r.tag()
    const at = r.pos
    r.skip(wire, no)
    const end = r.pos
    if (end > r.len) throw new Error('a message is cut off')
    const value = () => new BinaryReader(from.subarray(at, end)).bytes()
    if (wire !== WireType.LengthDelimited || !edit(no, w, value)) w.raw(from.subarray(start, end))
  }
  return w.finish()
}

function writeText(w: BinaryWriter, no: number, value: string): true {
  w.tag(no, WireType.LengthDelimited).string(value)
  return true
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}

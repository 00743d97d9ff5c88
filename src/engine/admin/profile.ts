import type { Session } from 'node:inspector/promises'
import type { Clock } from '../../runtime/runtime.ts'
import { numberOf } from './parameters.ts'
import { encodePprof, type Frame, type StackProfile, type StackSample } from './pprof.ts'
import { type AdminReply, type AdminRequest, text } from './table.ts'

const SECONDS = { most: 300, default: 10 }
/** CPU samples per second. */
const FREQUENCY = { most: 1000, default: 100 }
/** Bytes between two allocation samples. */
const HEAP_INTERVAL_BYTES = 64 * 1024

export type ProfileKind = 'cpu' | 'heap'

export interface ProfileWanted {
  readonly kind: ProfileKind
  readonly seconds: number
  /** CPU samples per second; unused for heap profiles. */
  readonly frequency: number
}

/** One profile at a time: the runtime has a single profiler, and concurrent profiles would skew each other. */
export class Profiler {
  readonly #clock: Clock
  #busy = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * `cpu`: where processor time was spent during the given seconds. `heap`: everything allocated in the first half,
   * plus what was allocated in the second half and is still in use; the runtime keeps no older record, and in a gateway
   * that retains nothing, the second part alone would be empty. Undefined while another profile is in progress. Ends
   * early, with what it has, if `left` aborts.
   */
  async take({ kind, seconds, frequency }: ProfileWanted, left: AbortSignal): Promise<StackProfile | undefined> {
    if (this.#busy) return undefined
    this.#busy = true
    const inspector = await import('node:inspector/promises')
    const session = new inspector.Session()
    const startedAt = this.#clock.now()
    const wait = (share: number) => this.#wait(seconds * 1000 * share, left)
    try {
      session.connect()
      const profile = await (kind === 'cpu' ? recordCpu(session, frequency, wait) : recordHeap(session, wait))
      return { ...profile, startedAt, duration: this.#clock.now() - startedAt }
    } finally {
      session.disconnect()
      this.#busy = false
    }
  }

  #wait(ms: number, left: AbortSignal): Promise<void> {
    if (left.aborted) return Promise.resolve()
    return new Promise(resolve => {
      const timer = this.#clock.after(ms, resolve)
      left.addEventListener('abort', () => {
        timer.cancel()
        resolve()
      })
    })
  }
}

/** `/debug/pprof/*`: `seconds` is 1 to 300, default 10; `frequency` 1 to 1000, default 100. Throws a ParameterError. */
export async function profileReply(
  kind: ProfileKind,
  { query, left }: AdminRequest,
  take: Profiler['take'],
): Promise<AdminReply> {
  const seconds = numberOf(query, 'seconds', SECONDS.most) ?? SECONDS.default
  const frequency = numberOf(query, 'frequency', FREQUENCY.most) ?? FREQUENCY.default
  const profile = await take({ kind, seconds, frequency }, left)
  if (profile === undefined) return text('another profile is in progress; try again later\n', 429)
  return {
    status: 200,
    type: 'application/octet-stream',
    body: encodePprof(profile),
    headers: { 'content-disposition': `attachment; filename="${kind}.pb.gz"` },
  }
}

type Recorded = Omit<StackProfile, 'startedAt' | 'duration'>

/** Resolves after that fraction of the recording time. */
type Wait = (share: number) => Promise<void>

async function recordCpu(session: Session, frequency: number, wait: Wait): Promise<Recorded> {
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: Math.round(1_000_000 / frequency) })
  await session.post('Profiler.start')
  await wait(1)
  const { profile } = await session.post('Profiler.stop')
  const period = Math.round(1_000_000_000 / frequency)
  return {
    types: [
      { type: 'samples', unit: 'count' },
      { type: 'cpu', unit: 'nanoseconds' },
    ],
    samples: cpuSamples(profile.nodes, period),
    period,
  }
}

async function recordHeap(session: Session, wait: Wait): Promise<Recorded> {
  const half = async (collected: boolean) => {
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: HEAP_INTERVAL_BYTES,
      includeObjectsCollectedByMajorGC: collected,
      includeObjectsCollectedByMinorGC: collected,
    })
    await wait(0.5)
    return heapSamples((await session.post('HeapProfiler.stopSampling')).profile.head)
  }
  const allocated = await half(true)
  const kept = await half(false)
  return {
    types: [
      { type: 'alloc_objects', unit: 'count' },
      { type: 'alloc_space', unit: 'bytes' },
      { type: 'inuse_objects', unit: 'count' },
      { type: 'inuse_space', unit: 'bytes' },
    ],
    shown: kept.length > 0 ? 'inuse_space' : 'alloc_space',
    samples: [
      ...allocated.map(({ stack, values }) => ({ stack, values: [...values, 0, 0] })),
      ...kept.map(({ stack, values }) => ({ stack, values: [0, 0, ...values] })),
    ],
    period: HEAP_INTERVAL_BYTES,
  }
}

interface CallFrame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}
interface CpuNode {
  readonly id: number
  readonly callFrame: CallFrame
  readonly hitCount?: number | undefined
  readonly children?: readonly number[] | undefined
}
interface HeapNode {
  readonly callFrame: CallFrame
  readonly selfSize: number
  readonly children: readonly HeapNode[]
}

function cpuSamples(nodes: readonly CpuNode[], period: number): StackSample[] {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const parents = new Map(nodes.flatMap(node => (node.children ?? []).map(child => [child, node] as const)))
  return nodes.flatMap(node => {
    const hits = node.hitCount ?? 0
    // The profiler counts idle time too.
    if (hits === 0 || node.callFrame.functionName === '(idle)') return []
    const stack: Frame[] = []
    for (let at: CpuNode | undefined = byId.get(node.id); at; at = parents.get(at.id)) stack.push(frameOf(at.callFrame))
    return [{ stack, values: [hits, hits * period] }]
  })
}

function heapSamples(head: HeapNode): StackSample[] {
  const out: StackSample[] = []
  const visit = (node: HeapNode, outer: readonly Frame[]) => {
    const stack = [frameOf(node.callFrame), ...outer]
    if (node.selfSize > 0) {
      out.push({ stack, values: [Math.max(1, Math.round(node.selfSize / HEAP_INTERVAL_BYTES)), node.selfSize] })
    }
    for (const child of node.children) visit(child, stack)
  }
  visit(head, [])
  return out
}

/** Viewers aggregate by name, so anonymous functions are distinguished by location. */
function frameOf({ functionName, url, lineNumber }: CallFrame): Frame {
  const line = Math.max(0, lineNumber + 1)
  const place = url === '' ? '' : ` ${url.replace(/^.*\//, '')}:${line}`
  return { name: functionName || `(anonymous${place})`, file: url, line }
}

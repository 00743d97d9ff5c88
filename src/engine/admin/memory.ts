import { readFileSync } from 'node:fs'
import { constrainedMemory, memoryUsage, resourceUsage } from 'node:process'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'

type Numbers = Readonly<Record<string, number>>

/** Memory held by one thread of the process, in bytes. */
export interface ThreadMemory {
  /** `main`, `worker 0` … */
  readonly thread: string
  readonly process: Numbers
  readonly allocator: Numbers
  readonly spaces: readonly { readonly space_name: string }[]
}

export function threadMemory(thread: string): ThreadMemory {
  const { heapTotal, heapUsed, external, arrayBuffers } = memoryUsage()
  return {
    thread,
    process: { heapTotal, heapUsed, external, arrayBuffers },
    allocator: { ...getHeapStatistics() },
    spaces: getHeapSpaceStatistics().filter(space => space.space_size > 0),
  }
}

/** `/memory`: bytes as accounted by the process, V8's allocator and the control group, over all threads. */
export function memoryReport(threads: readonly ThreadMemory[]): object {
  const [only] = threads
  return {
    captured_at_unix_ms: Date.now(),
    process: {
      rss: memoryUsage.rss(),
      max_rss: resourceUsage().maxRSS * 1024,
      ...sumOf(threads.map(each => each.process)),
    },
    allocator: { kind: 'v8', ...sumOf(threads.map(each => each.allocator)) },
    ...(threads.length === 1 ? { spaces: only?.spaces } : { threads }),
    cgroup: controlGroup(),
  }
}

function sumOf(all: readonly Numbers[]): Numbers {
  const sum: Record<string, number> = {}
  for (const numbers of all) for (const [name, value] of Object.entries(numbers)) sum[name] = (sum[name] ?? 0) + value
  return sum
}

/** Null outside of a control group. */
function controlGroup(): { readonly current: number; readonly max: number | null } | null {
  const current = number('/sys/fs/cgroup/memory.current')
  if (current === undefined) return null
  const limit = constrainedMemory()
  return { current, max: limit > 0 && limit < Number.MAX_SAFE_INTEGER ? limit : null }
}

function number(path: string): number | undefined {
  try {
    const value = Number(readFileSync(path, 'utf8').trim())
    return Number.isFinite(value) ? value : undefined
  } catch {
    return undefined
  }
}

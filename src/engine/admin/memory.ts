import { readFileSync } from 'node:fs'
import { constrainedMemory, memoryUsage, resourceUsage } from 'node:process'
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8'

/** `/memory`: bytes, as the process, V8's allocator and the control group count them. */
export function memoryReport(): unknown {
  const { rss, heapTotal, heapUsed, external, arrayBuffers } = memoryUsage()
  return {
    captured_at_unix_ms: Date.now(),
    process: { rss, max_rss: resourceUsage().maxRSS * 1024, heapTotal, heapUsed, external, arrayBuffers },
    allocator: { kind: 'v8', ...getHeapStatistics() },
    spaces: getHeapSpaceStatistics().filter(space => space.space_size > 0),
    cgroup: controlGroup(),
  }
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

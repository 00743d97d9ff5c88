import { type ChildProcess, spawn } from 'node:child_process'
import { openSync, readdirSync, readFileSync } from 'node:fs'
import net from 'node:net'
import { cpus } from 'node:os'

/** A child with a process group of its own, pinned to one core or several (`0,1`). */
export class Pinned {
  readonly #child: ChildProcess

  constructor(command: readonly string[], cores: string, log: string, env: Readonly<Record<string, string>> = {}) {
    const output = openSync(log, 'w')
    this.#child = spawn('taskset', ['-c', cores, ...command], {
      detached: true,
      stdio: ['ignore', output, output],
      env: { ...process.env, NODE_ENV: 'production', ...env },
    })
  }

  /** ns of processor time used so far by all threads of all its processes. */
  cpu(): Map<string, number> {
    const times = new Map<string, number>()
    for (const pid of this.#members()) {
      for (const task of list(`/proc/${pid}/task`)) {
        const text = read(`/proc/${pid}/task/${task}/schedstat`)
        if (text !== '') times.set(task, Number(text.split(' ')[0]))
      }
    }
    return times
  }

  /** MB in memory. */
  rss(): number {
    let kB = 0
    for (const pid of this.#members()) kB += Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0)
    return Math.round(kB / 1024)
  }

  stop(): void {
    if (this.#child.pid === undefined || this.#child.exitCode !== null) return
    try {
      process.kill(-this.#child.pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }

  #members(): string[] {
    const group = String(this.#child.pid)
    return list('/proc').filter(pid => {
      if (!/^\d+$/.test(pid)) return false
      const stat = read(`/proc/${pid}/stat`)
      return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2] === group
    })
  }
}

/** Seconds that all cores together were busy since boot. */
export function busySeconds(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0) / 1000
}

export function spent(before: Map<string, number>, after: Map<string, number>): number {
  let ns = 0
  for (const [task, time] of after) ns += time - (before.get(task) ?? 0)
  return ns / 1e9
}

/** How much of what was spent the busiest task has spent: with evenly loaded workers one part of their number. */
export function busiestShare(before: Map<string, number>, after: Map<string, number>): number {
  let most = 0
  for (const [task, time] of after) most = Math.max(most, time - (before.get(task) ?? 0))
  return most / 1e9 / spent(before, after)
}

/** Resolves when something answers HTTP on `port`. */
export async function answering(port: number, name: string): Promise<void> {
  const until = performance.now() + 120_000
  while (performance.now() < until) {
    const ok = await new Promise<boolean>(resolve => {
      const socket = net.connect(port, '127.0.0.1', () =>
        socket.write('GET /small HTTP/1.1\r\nHost: bench.test\r\nConnection: close\r\n\r\n'),
      )
      socket.once('data', chunk => {
        resolve(/^HTTP\/1\.1 [1-4]/.test(chunk.toString('latin1')))
        socket.destroy()
      })
      socket.on('error', () => resolve(false))
      socket.on('close', () => resolve(false))
    })
    if (ok) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new Error(`${name} does not answer on port ${port}: see its log in the work folder`)
}

export async function freePort(): Promise<number> {
  const server = net.createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as net.AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Target } from './targets.ts'
import { BENCH_FIELDS, GRPC_FIELDS, type Workload, wrkScript } from './workloads.ts'

export interface Reply {
  readonly requests: number
  /** µs. */
  readonly duration: number
  readonly errors: number
  /** µs. */
  readonly p50: number
  readonly p99: number
}

/** Of fresh connections, for each second that was asked for. */
const HANDSHAKES = 800
/** Where h2load writes how long each request took. */
const TIMES = 'times'
const MESSAGES = join(import.meta.dirname, 'messages.ts')

/** Loads a target for `seconds`. `cpu`: seconds that the load generator itself used. */
export async function load(
  folder: string,
  shape: Workload,
  target: Target,
  seconds: number,
): Promise<{ reply: Reply; cpu: number }> {
  const plain = shape.llm ? target.llm : shape.guarded ? target.guarded : target.port
  const port = shape.secure ? target.secure : plain
  const url = `${shape.secure ? 'https' : 'http'}://127.0.0.1:${port}${shape.path}`
  const command = shape.h2load
    ? await h2load(folder, shape, target, seconds)
    : shape.messages
      ? [process.execPath, MESSAGES, String(port), String(shape.connections), String(seconds)]
      : await wrk(folder, shape, target, seconds)
  const cores = shape.only === undefined ? '1' : '0,1'
  const { stdout } = await promisify(execFile)(
    'taskset',
    ['-c', cores, 'bash', '-c', '"$@"; times', 'load', ...command, ...(shape.messages ? [] : [url])],
    { maxBuffer: 1 << 26 },
  )
  const reply = shape.h2load ? ofH2load(stdout) : (JSON.parse(/RESULT (\{.*\})/.exec(stdout)?.[1] ?? 'null') as Reply)
  if (reply === null) throw new Error(`${command[0]} said: ${stdout}`)
  let cpu = 0
  const times = stdout.split('\n').slice(-3).join(' ')
  for (const [, minutes, rest] of times.matchAll(/(\d+)m([\d.]+)s/g)) cpu += Number(minutes) * 60 + Number(rest)
  return { reply: shape.rate === undefined ? reply : { ...reply, ...(await percentiles(folder)) }, cpu }
}

async function wrk(folder: string, shape: Workload, target: Target, seconds: number): Promise<string[]> {
  const script = join(folder, 'wrk.lua')
  await writeFile(script, wrkScript(shape, target.fields))
  return ['wrk', '-t1', `-c${shape.connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script]
}

async function h2load(folder: string, shape: Workload, target: Target, seconds: number): Promise<string[]> {
  const { connections, streams = 1, body, rate } = shape
  const data = join(folder, 'request')
  if (body !== undefined) await writeFile(data, body)
  const fields = { ...(shape.grpc ? GRPC_FIELDS : body === undefined ? {} : BENCH_FIELDS), ...target.fields }
  const log = join(folder, TIMES)
  if (rate !== undefined) await rm(log, { force: true })
  return [
    'h2load',
    '-t1',
    `-c${connections}`,
    `-m${streams}`,
    // By time it never ends where connections do.
    ...(shape.h2load === 'fresh' ? ['--h1', '-H', 'connection: close', `-n${seconds * HANDSHAKES}`] : [`-D${seconds}`]),
    ...(shape.h2load === 'h1' ? ['--h1'] : []),
    ...(rate === undefined ? [] : [`--rps=${rate}`, `--log-file=${log}`]),
    ...(body === undefined ? [] : ['-d', data]),
    ...Object.entries(fields).flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
  ]
}

async function percentiles(folder: string): Promise<{ p50: number; p99: number }> {
  const lines = (await readFile(join(folder, TIMES), 'latin1')).trimEnd().split('\n')
  const times = lines.map(line => Number(line.split('\t')[2])).sort((a, b) => a - b)
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? 0
  return { p50: at(0.5), p99: at(0.99) }
}

function ofH2load(text: string): Reply | null {
  const counts = /requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded/.exec(text)
  const time = /finished in ([\d.]+)(s|ms)/.exec(text)
  const request = /time for request:\s+\S+\s+(\S+)\s+(\S+)/.exec(text)
  if (counts === null || time === null) return null
  return {
    requests: Number(counts[2]),
    duration: Number(time[1]) * (time[2] === 's' ? 1e6 : 1e3),
    errors: Number(counts[1]) - Number(counts[2]),
    // Its mean; it gives no percentiles.
    p50: microseconds(request?.[2]),
    p99: microseconds(request?.[1]),
  }
}

function microseconds(text = '0us'): number {
  const value = Number.parseFloat(text)
  if (text.endsWith('us')) return Math.round(value)
  return Math.round(text.endsWith('ms') ? value * 1e3 : value * 1e6)
}

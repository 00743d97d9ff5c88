import { WORKLOADS } from './workloads.ts'

/** One measurement. */
export interface Record {
  readonly target: string
  readonly workload: string
  readonly round: number
  /** µs of processor time per request. */
  readonly cpu: number
  /** Of the busiest thread in that. */
  readonly busiest: number
  readonly requests: number
  readonly errors: number
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  /** MB. */
  readonly rss: number
  /** Cores that others kept busy meanwhile. */
  readonly foreign: number
}

/** Whom the others are compared with, where they took part. */
const BASES = ['nginx', 'oracle', 'prototype']

/** Medians per workload and target, and medians of the ratios within each round. */
export function table(records: readonly Record[]): string {
  const bases = BASES.filter(base => records.some(record => record.target === base))
  let out = `${'workload'.padEnd(20)}${'target'.padEnd(11)}${'µs'.padStart(8)}${'p99 µs'.padStart(9)}${'MB'.padStart(6)}  n`
  for (const base of bases) out += `  ${`to ${base} (least-most)`.padEnd(24)}`
  out += '  goal to oracle\n'
  for (const workload of new Set(records.map(record => record.workload))) {
    const those = records.filter(record => record.workload === workload)
    for (const target of new Set(those.map(record => record.target))) {
      const mine = those.filter(record => record.target === target)
      const cpu = median(mine.map(record => record.cpu)).toFixed(1)
      const p99 = median(mine.map(record => record.p99)).toFixed(0)
      const rss = median(mine.map(record => record.rss)).toFixed(0)
      out += `${workload.padEnd(20)}${target.padEnd(11)}${cpu.padStart(8)}${p99.padStart(9)}${rss.padStart(6)}  ${mine.length}`
      for (const base of bases) out += `  ${ratioText(mine, those, base).padEnd(24)}`
      if (target === 'gwctl') out += `  ${WORKLOADS[workload]?.goal ?? ''}`
      out = `${out.trimEnd()}\n`
    }
    out += scaling(those)
  }
  return out
}

function ratioText(mine: readonly Record[], those: readonly Record[], base: string): string {
  const ratios = mine.flatMap(record => {
    const other = those.find(one => one.target === base && one.round === record.round)
    return other === undefined ? [] : [record.cpu / other.cpu]
  })
  if (ratios.length === 0) return '-'
  return `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)})`
}

/**
 * What two workers carry over one. The load generator sits on the same cores, so requests per second would show its
 * share too; but a replica is full when its busiest thread fills a core, and that is known from processor time alone.
 */
function scaling(those: readonly Record[]): string {
  const full = those.flatMap(two => {
    const one = those.find(other => other.target === 'gwctl-1' && other.round === two.round)
    if (two.target !== 'gwctl-2' || one === undefined) return []
    return [(one.cpu * one.busiest) / (two.cpu * two.busiest)]
  })
  return full.length === 0
    ? ''
    : `two workers carry ${median(full).toFixed(2)} times as much as one (n=${full.length})\n`
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}

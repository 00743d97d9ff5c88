/**
 * Adds up what several workers expose, in either text format: samples with the same name and labels become one. Facts
 * (`…_info`) are the same everywhere and stay as they are.
 */
export function sumMetrics(expositions: readonly string[]): string {
  const families = new Map<string, { readonly head: string[]; readonly samples: Map<string, number> }>()
  let end = ''
  for (const exposition of expositions) {
    let family: { readonly head: string[]; readonly samples: Map<string, number> } | undefined
    let isNew = false
    for (const line of exposition.split('\n')) {
      if (line === '') continue
      if (line === '# EOF') {
        end = '# EOF\n'
        continue
      }
      const [, word, name = ''] = /^# (HELP|TYPE|UNIT) (\S+)/.exec(line) ?? []
      if (word === undefined) {
        if (family !== undefined) add(family.samples, line)
        continue
      }
      if (word === 'HELP') {
        const known = families.get(name)
        isNew = known === undefined
        family = known ?? { head: [], samples: new Map() }
        families.set(name, family)
      }
      if (isNew) family?.head.push(line)
    }
  }
  let out = ''
  for (const { head, samples } of families.values()) {
    for (const line of head) out += `${line}\n`
    for (const [series, value] of samples) out += `${series} ${valueText(value)}\n`
  }
  return out + end
}

/** What a worker that has ended leaves to the sums: its counts, but nothing that it was doing. */
export function countersOf(exposition: string): string {
  let keep = false
  return exposition
    .split('\n')
    .filter((line, i, all) => {
      if (line.startsWith('# HELP ')) keep = / (counter|histogram)$/.test(all[i + 1] ?? '')
      return keep && line !== '# EOF'
    })
    .map(line => `${line}\n`)
    .join('')
}

function add(samples: Map<string, number>, line: string): void {
  const at = line.lastIndexOf(' ')
  const series = line.slice(0, at)
  const value = toNumber(line.slice(at + 1))
  const known = samples.get(series)
  if (known === undefined) samples.set(series, value)
  else if (!/_info(\{|$)/.test(series)) samples.set(series, known + value)
}

function toNumber(text: string): number {
  return text === '+Inf' ? Number.POSITIVE_INFINITY : text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text)
}

function valueText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Exposition {
  readonly types: ReadonlyMap<string, string>
  readonly samples: readonly Sample[]
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  histogram: ['_bucket', '_sum', '_count'],
  counter: ['_total'],
  info: ['_info'],
  gauge: [''],
}

/**
 * Reads Prometheus text 0.0.4 or OpenMetrics 1.0 and refuses what these do not allow: samples outside of their family,
 * families or series that occur twice, labels out of form, buckets that do not add up, a missing end.
 */
export function parseExposition(text: string, format: 'prometheus' | 'openmetrics'): Exposition {
  const types = new Map<string, string>()
  const samples: Sample[] = []
  const series = new Set<string>()
  let family = ''
  const lines = text.split('\n')
  if (lines.pop() !== '') throw new Error('the last line has no end')
  if (format === 'openmetrics' && lines.pop() !== '# EOF') throw new Error('# EOF is missing')
  for (const line of lines) {
    const comment = /^# (HELP|TYPE|UNIT) (\S+) (.*)$/.exec(line)
    if (comment) {
      const [, kind, name = '', rest = ''] = comment
      if (kind === 'TYPE' && types.has(name)) throw new Error(`${name} occurs twice`)
      if (kind === 'TYPE') types.set(name, rest)
      if (kind === 'UNIT' && !name.endsWith(`_${rest}`)) throw new Error(`${name} does not end in its unit ${rest}`)
      family = name
      continue
    }
    const sample = parseSample(line)
    const type = types.get(family)
    if (type === undefined) throw new Error(`${line} stands before its type`)
    const suffixes = format === 'openmetrics' ? SUFFIXES[type] : type === 'histogram' ? SUFFIXES.histogram : ['']
    if (!suffixes?.some(suffix => sample.name === family + suffix)) throw new Error(`${line} is no part of ${family}`)
    const key = sample.name + JSON.stringify(Object.entries(sample.labels).sort())
    if (series.has(key)) throw new Error(`${line} occurs twice`)
    series.add(key)
    samples.push(sample)
  }
  checkBuckets(samples)
  return { types, samples }
}

function parseSample(line: string): Sample {
  const name = NAME.exec(line)?.[0]
  if (name === undefined) throw new Error(`no name: ${line}`)
  let rest = line.slice(name.length)
  const labels: Record<string, string> = {}
  if (rest.startsWith('{')) {
    const end = rest.lastIndexOf('} ')
    let inside = rest.slice(1, end)
    rest = rest.slice(end + 1)
    while (inside !== '') {
      const label = LABEL.exec(inside)
      if (!label) throw new Error(`labels out of form: ${line}`)
      if (label[1]! in labels) throw new Error(`the label ${label[1]} occurs twice: ${line}`)
      labels[label[1]!] = label[2]!.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char))
      inside = inside.slice(label[0].length)
    }
  }
  const number = /^ (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|\+Inf|-Inf|NaN)$/.exec(rest)?.[1]
  if (number === undefined) throw new Error(`no value: ${line}`)
  return { name, labels, value: number.endsWith('Inf') ? Number(`${number[0]}1`) / 0 : Number(number) }
}

function checkBuckets(samples: readonly Sample[]): void {
  const last = new Map<string, { readonly le: number; readonly value: number }>()
  for (const { name, labels, value } of samples) {
    if (!name.endsWith('_bucket')) continue
    const { le = '', ...rest } = labels
    const key = `${name.slice(0, -7)}_count${JSON.stringify(rest)}`
    const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)
    const before = last.get(key)
    if (before && (before.le >= bound || before.value > value)) throw new Error(`${name} ${le} is out of order`)
    last.set(key, { le: bound, value })
  }
  for (const { name, labels, value } of samples) {
    const bucket = last.get(name + JSON.stringify(labels))
    if (bucket && (bucket.le !== Number.POSITIVE_INFINITY || bucket.value !== value)) {
      throw new Error(`${name} is not the last bucket`)
    }
  }
}

/** The identity of an exposition line, which persists over samples. */
interface Series {
  /** Without `agentgateway_`. */
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

export interface Sample extends Series {
  readonly value: number
  /** Name and labels as written. */
  readonly series: string
}

/** Parses successive expositions in the Prometheus text format; lines other than samples are ignored. */
export class ExpositionReader {
  /** From the previous exposition: nearly all series recur, and parsing labels takes most of the time. */
  #known: ReadonlyMap<string, Series> = new Map()

  read(text: string): readonly Sample[] {
    const known = new Map<string, Series>()
    const samples = text.split('\n').flatMap(line => {
      const [, series, value] = /^([^#{ ]+(?:\{.*\})?) (\S+)/.exec(line) ?? []
      if (series === undefined || value === undefined) return []
      const number = numberOf(value)
      const about = this.#known.get(series) ?? seriesOf(series)
      if (about === undefined || Number.isNaN(number)) return []
      known.set(series, about)
      return [{ name: about.name, labels: about.labels, value: number, series }]
    })
    this.#known = known
    return samples
  }
}

function seriesOf(text: string): Series | undefined {
  const [, name, labels = ''] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?$/.exec(text) ?? []
  return name === undefined ? undefined : { name: name.replace(/^agentgateway_/, ''), labels: labelsOf(labels) }
}

function labelsOf(text: string): Readonly<Record<string, string>> {
  const pairs = text.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)
  return Object.fromEntries(
    [...pairs].map(([, name, value]) => [
      name,
      (value as string).replaceAll(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c)),
    ]),
  )
}

function numberOf(text: string): number {
  return text === '+Inf' ? Number.POSITIVE_INFINITY : text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text)
}

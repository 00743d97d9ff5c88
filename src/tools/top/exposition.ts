export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Samples of the Prometheus text format; what is none is left out. */
export function parseExposition(text: string): readonly Sample[] {
  return text.split('\n').flatMap(line => {
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? []
    if (name === undefined || value === undefined) return []
    const number = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value)
    return Number.isNaN(number) ? [] : [{ name, labels: labelsOf(labels), value: number }]
  })
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

import { visible } from '../../diagnostics/visible.ts'

/** An invalid query; the message is meant for the client. */
export class ParameterError extends Error {
  override name = 'ParameterError'
}

/**
 * Throws a ParameterError for an unknown or repeated name: a misspelt filter, if ignored, would let everything through.
 */
export function checkParameters(query: URLSearchParams, known: readonly string[]): void {
  const names = [...query.keys()]
  const unknown = names.find(name => !known.includes(name))
  if (unknown !== undefined) {
    throw new ParameterError(`there is no parameter ${visible(unknown.slice(0, 100))}: ${known.join(', ')}`)
  }
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw new ParameterError(`${twice} is given more than once`)
}

/** An integer from 1 to `most`; undefined if absent. Throws a ParameterError for anything else. */
export function numberOf(query: URLSearchParams, name: string, most: number): number | undefined {
  const given = query.get(name)
  if (given === null) return undefined
  const value = /^\d{1,9}$/.test(given) ? Number(given) : 0
  if (value >= 1 && value <= most) return value
  throw new ParameterError(`${name} takes a number from 1 to ${most}`)
}

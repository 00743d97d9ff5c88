export const MAX_WORKERS = 1024

/** The number of threads that share the ports. */
export type Workers = { readonly count: number } | { /** Of the processors, 0 to 1. */ readonly share: number }

/** Parses `4` and `50%`; undefined for anything else. */
export function parseWorkers(text: string): Workers | undefined {
  const [, digits, percent] = /^(?:(\d{1,4})|(\d{1,3}(?:\.\d+)?)%)$/.exec(text) ?? []
  const share = Number(percent) / 100
  if (percent !== undefined) return share > 0 ? { share } : undefined
  const count = Number(digits)
  return count >= 1 && count <= MAX_WORKERS ? { count } : undefined
}

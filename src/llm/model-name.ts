import type { Problem } from '../schema/builder.ts'

/** Finds the entries whose name matches a model: exact names first, then wildcards, the most specific first. */
export interface ModelIndex<T> {
  /** Matching entries, best first. */
  find(model: string): readonly T[]
}

/** A single `*`, at the start, at the end or alone. */
export function modelNameProblem(name: string): Problem | undefined {
  const star = name.indexOf('*')
  if (star < 0) return undefined
  if (name.indexOf('*', star + 1) >= 0) return { message: 'a model name takes one `*`, not several' }
  if (star === 0 || star === name.length - 1) return undefined
  return {
    message: 'a `*` inside a model name is not supported',
    help: 'put it at the start (`*-latest`), at the end (`gpt-*`) or write `*` for every model',
    span: [star, star + 1],
  }
}

function isWildcard(name: string): boolean {
  return name.includes('*')
}

export function matchesModel(pattern: string, model: string): boolean {
  const star = pattern.indexOf('*')
  if (star < 0) return pattern === model
  const fixed = pattern.length - 1
  if (model.length < fixed) return false
  return star === 0 ? model.endsWith(pattern.slice(1)) : model.startsWith(pattern.slice(0, -1))
}

/** A wildcard's specificity is its number of literal characters; ties keep their order. */
export function indexModels<T>(entries: readonly (readonly [name: string, entry: T])[]): ModelIndex<T> {
  const exact = new Map<string, T[]>()
  const wild: [string, T][] = []
  for (const [name, entry] of entries) {
    if (isWildcard(name)) wild.push([name, entry])
    else exact.set(name, [...(exact.get(name) ?? []), entry])
  }
  wild.sort((a, b) => b[0].length - a[0].length)
  return {
    find(model) {
      const found = exact.get(model)
      if (wild.length === 0) return found ?? []
      const fitting = wild.filter(([pattern]) => matchesModel(pattern, model)).map(([, entry]) => entry)
      return found ? [...found, ...fitting] : fitting
    },
  }
}

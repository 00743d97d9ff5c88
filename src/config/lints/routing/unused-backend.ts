import type { Lint } from '../lint.ts'

/** GW521: an unreferenced backend. */
export const unusedBackend: Lint = file => {
  if (file.config.backends.length === 0) return
  const used = new Set<string>()
  collectReferences(file.document.value, used)
  for (const backend of file.config.backends) {
    const reference = `${backend.namespace ?? ''}/${backend.name}`
    if (used.has(reference)) continue
    file.report({
      code: 'GW521',
      message: `nothing refers to the backend \`${backend.name}\``,
      path: [...file.pathOf(backend), 'name'],
      at: 'value',
      label: 'not used',
      help: `refer to it with \`backend: ${reference}\`, or remove it`,
    })
  }
}

/** References are always stored under the key `backend`. */
function collectReferences(value: unknown, used: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, item] of Object.entries(value)) {
    if (key === 'backend' && typeof item === 'string') used.add(item)
    else collectReferences(item, used)
  }
}

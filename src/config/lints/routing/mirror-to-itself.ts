import { asFields } from '../../../schema/untyped.ts'
import { valueAt } from '../../compile-context.ts'
import type { Lint } from '../lint.ts'
import { routesOf } from '../sites.ts'

/** GW561: a mirror to the backend that already receives the request. */
export const mirrorToItself: Lint = file => {
  for (const { policies, backends } of routesOf(file.config)) {
    const mirror = policies?.requestMirror
    const used = backends.filter(({ weight }) => weight > 0)
    if (!mirror || used.length !== 1) continue
    const to = Object.entries(mirror.backend).filter(([, value]) => value !== undefined)
    const path = [...file.pathOf(mirror), 'backend']
    const backend = asFields(valueAt(file.document.value, file.pathOf(used[0]!))) ?? {}
    const written = asFields(valueAt(file.document.value, path)) ?? {}
    if (!to.some(([kind]) => written[kind] !== undefined && isSame(written[kind], backend[kind]))) continue
    file.report({
      code: 'GW561',
      message: 'the mirror targets the backend that already gets the requests, so it gets each of them twice',
      path,
      at: 'value',
      label: 'the same backend',
      help: 'name the service that the copies are for, or remove the mirror',
      related: [{ path: file.pathOf(used[0]!), at: 'value', message: 'gets the requests' }],
    })
  }
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

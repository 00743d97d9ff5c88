import type { Fields } from '../../../schema/untyped.ts'
import type { Resource } from '../../resources/resource.ts'

export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

export function isTrue(type: string, reason: string, message = ''): Condition {
  return { type, status: 'True', reason, message }
}

export function isFalse(type: string, reason: string, message: string): Condition {
  return { type, status: 'False', reason, message }
}

/** The status that a controller would write for one resource. */
export interface Status {
  readonly resource: Resource
  readonly status: Fields
}

/** `backendRef other/be not accessible to a HTTPRoute in namespace "default" (missing a ReferenceGrant?)`. */
export function notAccessible(field: string, target: string, from: Resource): string {
  const article = /^[AEIO]/.test(from.kindName) ? 'an' : 'a'
  return `${field} ${target} not accessible to ${article} ${from.kindName} in namespace "${from.namespace}" (missing a ReferenceGrant?)`
}

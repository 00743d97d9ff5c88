import { QUANTITY_UNITS } from '../../schema/scalars.ts'
import { textOf } from '../../schema/untyped.ts'

/** The value of a Kubernetes quantity: `500m`, `1Gi`, `2`. NaN if it is malformed. */
export function amountOf(quantity: unknown): number {
  const [, digits, unit] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([A-Za-z]*)$/.exec(textOf(quantity)) ?? []
  return Number(digits) * (QUANTITY_UNITS[unit ?? ''] ?? Number.NaN)
}

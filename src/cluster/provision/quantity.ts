import { QUANTITY_UNITS } from '../../schema/scalars.ts'
import { textOf } from '../../schema/untyped.ts'

/** What a quantity of Kubernetes comes to: `500m`, `1Gi`, `2`. NaN for what is none. */
export function amountOf(quantity: unknown): number {
  const [, digits, unit] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([A-Za-z]*)$/.exec(textOf(quantity)) ?? []
  return Number(digits) * (QUANTITY_UNITS[unit ?? ''] ?? Number.NaN)
}

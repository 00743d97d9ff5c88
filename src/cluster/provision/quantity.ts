import { textOf } from '../../schema/untyped.ts'

const UNITS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

/** What a quantity of Kubernetes comes to: `500m`, `1Gi`, `2`. NaN for what is none. */
export function amountOf(quantity: unknown): number {
  const [, digits, unit] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([A-Za-z]*)$/.exec(textOf(quantity)) ?? []
  return Number(digits) * (UNITS[unit ?? ''] ?? Number.NaN)
}

import { describe, expect, it } from 'vitest'
import type { CelScope } from '../../src/schema/builder.ts'
import { evaluate, exchange, value } from './exchange-fixture.ts'

type Table = readonly (readonly [expression: string, expected: unknown])[]

/** One test for each expression and its value. */
export function holds(name: string, table: Table, scope: CelScope = 'request', make = () => exchange()): void {
  describe(name, () => {
    it.each(table)('%s', (text, expected) => {
      expect(value(text, scope, make())).toEqual(expected)
    })
  })
}

/** One test for each expression that fails, and a part of the reason it gives. */
export function fails(name: string, table: readonly (readonly [string, string])[]): void {
  describe(name, () => {
    it.each(table)('%s', (text, reason) => {
      const outcome = evaluate(text)
      expect(outcome.ok ? outcome : outcome.error).toContain(reason)
    })
  })
}

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formFields } from '../../src/http/form-fields.ts'

const piece = fc.constantFrom('&', '=', '?', 'a', 'bc', '+', '%26', '%3D', '%', '%zz', '%ff', 'é', '\n')

describe('form fields', () => {
  test('match what URLSearchParams reads', () => {
    const text = fc.array(piece).map(parts => parts.join(''))
    const same = fc.property(text, each => {
      expect([...formFields(each)]).toEqual([...new URLSearchParams(each)])
    })
    fc.assert(same)
  })
})

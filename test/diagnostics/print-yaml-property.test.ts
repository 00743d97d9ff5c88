import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { printYaml } from '../../src/diagnostics/print-yaml.ts'

const HARD = ['yes', '012', 'a\nb', 'a\nb\n', 'a\n\n b', '\n', 'x: y', '# c', '- a', '*', '<x>', '1e3', '']
const words = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(...HARD, '~', 'a\n\n\n', 'b \nx', '\t'),
  // Names and places, which need no quotes unless they look like something else.
  fc.string({ unit: fc.constantFrom('a', 'Y', '0', '_', '/', '.', ':', '-'), minLength: 1, maxLength: 12 }),
  fc.constantFrom('config.yaml:3:7', 'https://a.test/b', 'default:', 'a:\u0020b', 'Infinity', '-.inf', '/x:y:'),
)
const keys = fc.oneof(fc.constantFrom('a', 'b', '1', 'true', 'y', '- k', 'a b', '*'), fc.string())
const { value: values } = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    words,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(keys, tie('value'), { maxKeys: 4 }),
  ),
}))

test('round-trips, and matches the output of the YAML library', () => {
  fc.assert(
    fc.property(values, given => {
      // Without what JSON does not know, such as a negative zero.
      const value: unknown = JSON.parse(JSON.stringify({ given }))
      const text = printYaml(value)
      expect(parse(text)).toEqual(value)
      expect(text).toBe(stringify(value, { aliasDuplicateObjects: false, compat: 'yaml-1.1', lineWidth: 0 }))
    }),
    { numRuns: 1500, seed: 7 },
  )
})

test.each([
  '---',
  '--- a',
  '...',
  '......',
  ' ',
  ' \n',
  '\n  \n',
  '  \na',
  '\n  a',
  '   a\n',
  ...['yes', 'null', '~', '1e3', '0x1', '2020-01-01', '1:30', '<<', '=', '#x', '- a', 'a: b', ' a ', '\ufeffa', 'é'],
])('%j keeps its meaning in any position, in YAML 1.1 and 1.2', word => {
  for (const value of [word, [word], [[word]], { k: word }, [{ [word]: word }], { a: [{ [word]: [word] }] }]) {
    const text = printYaml(value)
    expect([parse(text, { version: '1.1' }), parse(text, { version: '1.2' })]).toEqual([value, value])
  }
})

import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { standalone } from '../../src/config/standalone/standalone.ts'
import {
  boolean,
  cel,
  def,
  integer,
  lazy,
  list,
  map,
  object,
  oneOf,
  opt,
  req,
  type Schema,
  secret,
  shapes,
  string,
} from '../../src/schema/builder.ts'
import { emit } from '../../src/schema/emit.ts'
import { duration } from '../../src/schema/scalars.ts'
import { mutations } from './mutations.ts'
import { decodeWith, readFixtures } from './standalone-file.ts'
import { withoutChecks } from './without-checks.ts'

/** Codes of mistakes that a JSON Schema can see: the shape of the document, not what is written in its texts. */
const STRUCTURAL = ['GW101', 'GW102', 'GW103', 'GW104', 'GW105', 'GW107', 'GW108', 'GW109', 'GW110', 'GW113']

const plain = (schema: Schema<unknown>) =>
  new Ajv2020({ strict: false, validateFormats: false }).compile(emit(schema, { title: 'test' }))
const bare = (schema: Schema<unknown>) => {
  const { $schema: _, title: __, $defs: ___, ...rest } = emit(schema, { title: 'test' })
  return rest
}

describe('the published schema and the decoder agree', () => {
  const accepts = plain(standalone)
  const structure = withoutChecks(standalone)
  const fixtures = [...readFixtures('ok'), ...readFixtures('err')]

  test.each(fixtures.map(fixture => [fixture.name, fixture.document] as const))('%s', (_name, document) => {
    const codes = decodeWith(structure, document).errors.map(finding => finding.code)
    const visible = codes.filter(code => STRUCTURAL.includes(code) || code === 'GW106')
    expect(accepts(document)).toBe(visible.length === 0)
  })

  test('after any single change to a valid config', () => {
    const different: string[] = []
    let changed = 0
    for (const { name, document } of readFixtures('ok')) {
      for (const mutation of mutations(document)) {
        changed++
        const { errors } = decodeWith(structure, mutation.document)
        const accepted = accepts(mutation.document)
        const missed = accepted && errors.some(finding => STRUCTURAL.includes(finding.code))
        if (missed || (!accepted && errors.length === 0)) different.push(`${name}: ${mutation.what}`)
      }
    }
    expect(different).toEqual([])
    expect(changed).toBeGreaterThan(10_000)
  })
})

describe('emitted JSON Schema', () => {
  test('a closed object with descriptions, defaults and annotations', () => {
    const schema = object('thing', {
      name: req(string({ min: 1, max: 9, pattern: /^[a-z]+$/ }), 'Its name.', { spec: 'Things' }),
      wait: def(duration, '5s', 'How long.'),
      key: opt(secret(), 'Its key.'),
      when: opt(cel('request', 'bool'), 'When.', { unserved: 'Never happens.' }),
      old: opt(boolean, 'Old.', { deprecated: 'Use name.' }),
    })
    expect(bare(schema)).toEqual({
      type: 'object',
      additionalProperties: false,
      required: ['name'],
      properties: {
        name: {
          description: 'Its name.',
          type: 'string',
          minLength: 1,
          maxLength: 9,
          pattern: '^[a-z]+$',
          'x-spec': 'Things',
        },
        wait: { description: 'How long.', type: 'string', pattern: expect.stringContaining('ms'), default: '5s' },
        key: { description: 'Its key.', type: ['string', 'null'], minLength: 1, writeOnly: true, 'x-secret': true },
        when: {
          description: 'When.',
          type: ['string', 'null'],
          minLength: 1,
          maxLength: 16_384,
          'x-cel': { scope: 'request', result: 'bool' },
          'x-unserved': 'Never happens.',
        },
        old: { description: 'Old. Deprecated: Use name.', type: ['boolean', 'null'], deprecated: true },
      },
    })
  })

  test('exclusive key groups', () => {
    const one = opt(integer(), 'One.')
    const exactly = object('choice', { a: one, b: one }, { exactlyOneOf: [['a', 'b']] })
    expect(bare(exactly)).toMatchObject({ oneOf: [{ required: ['a'] }, { required: ['b'] }] })
    const most = object('choice', { a: one, b: one, c: one }, { atMostOneOf: [['a', 'b', 'c']] })
    const pairs = [
      { not: { required: ['a', 'b'] } },
      { not: { required: ['a', 'c'] } },
      { not: { required: ['b', 'c'] } },
    ]
    expect(bare(most)).toMatchObject({ allOf: pairs })
    const least = object('choice', { a: one, b: one }, { atLeastOneOf: [['a', 'b']] })
    expect(bare(least)).toMatchObject({ anyOf: [{ required: ['a'] }, { required: ['b'] }] })
  })

  test('a required key accepts either alias, but not both', () => {
    const accepts = plain(object('thing', { max: req(integer(), 'Max.', { aliases: ['maximum'] }) }))
    expect([{ max: 1 }, { maximum: 1 }, {}, { max: 1, maximum: 1 }].map(value => accepts(value))).toEqual([
      true,
      true,
      false,
      false,
    ])
  })

  test('a reused object is defined once, and different objects with the same name are kept apart', () => {
    const point = object('point', { x: req(integer(), 'X.') })
    const other = object('point', { y: req(integer(), 'Y.') })
    const schema = object('line', {
      from: req(point, 'From.'),
      to: req(point, 'To.'),
      all: req(list(other), 'All.'),
      more: req(map(other), 'More.'),
    })
    const emitted = emit(schema, { title: 'test' })
    expect(Object.keys(emitted.$defs as object)).toEqual(['Point', 'Point2'])
    expect(emitted.properties).toMatchObject({
      from: { $ref: '#/$defs/Point' },
      to: { $ref: '#/$defs/Point' },
      all: { items: { $ref: '#/$defs/Point2' } },
    })
  })

  test('a recursive declaration terminates', () => {
    const tree: Schema<unknown> = object('tree', { children: opt(list(lazy('Tree', () => tree)), 'Below.') })
    const accepts = plain(tree)
    expect(accepts({ children: [{ children: [] }, {}] })).toBe(true)
    expect(accepts({ children: [{ children: [{ child: 1 }] }] })).toBe(false)
  })

  test('shorthand forms become alternatives', () => {
    expect(bare(shapes({ string: oneOf(['auto'], { Auto: 'auto' }), number: integer(0, 9) }))).toEqual({
      anyOf: [
        { type: 'string', enum: ['auto', 'Auto'] },
        { type: 'integer', minimum: 0, maximum: 9 },
      ],
    })
  })

  test('uses only standard keywords and x- annotations', () => {
    const known = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, validateFormats: false })
    const notes = new Set<string>()
    JSON.stringify(emit(standalone, { title: 'test' }), (key, value) => {
      if (key.startsWith('x-') && !key.startsWith('x-api')) notes.add(key)
      return value
    })
    for (const note of notes) known.addKeyword(note)
    expect([...notes].sort()).toEqual(['x-cel', 'x-regex', 'x-secret', 'x-spec', 'x-unserved'])
    expect(() => known.compile(emit(standalone, { title: 'test' }))).not.toThrow()
  })
})

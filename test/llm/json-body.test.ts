import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonBody } from '../../src/llm/json-body.ts'

const parse = (text: string | Buffer): JsonBody => JsonBody.parse(Buffer.from(text as string)) as JsonBody
const bytes = (body: JsonBody): string => body.bytes().toString()

describe('a request body', () => {
  test('is sent unchanged when nothing was modified', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const source = Buffer.from(JSON.stringify(value, undefined, space))
        expect(JsonBody.parse(source)?.bytes()).toBe(source)
      }),
    )
  })

  test('changes only where it was modified', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), fc.jsonValue(), (value, key, next) => {
        const body = parse(JSON.stringify(value))
        body.set(key, next)
        const expected = JSON.parse(JSON.stringify(value)) as Record<string, unknown>
        Object.defineProperty(expected, key, { value: next, enumerable: true, configurable: true })
        expect(JSON.parse(bytes(body))).toEqual(JSON.parse(JSON.stringify(expected)))
        expect(body.get(key)).toEqual(next)
      }),
    )
  })

  test.each(
    [
      [
        '',
        '[]',
        '1',
        '"a"',
        'null',
        '{',
        '{"a"}',
        '{"a":}',
        '{"a":1,}',
        '{"a":1}x',
        "{'a':1}",
        '{"a":1 "b":2}',
        '{"a":01}',
      ],
    ].flat(),
  )('is rejected for %j', text => {
    expect(JsonBody.parse(Buffer.from(text))).toBeUndefined()
  })

  test('keeps numbers beyond JavaScript’s precision', () => {
    const body = parse('{"seed":123456789012345678901234567890,"t":1.0e+00,"model":"a"}')
    body.set('model', 'b')
    expect(bytes(body)).toBe('{"seed":123456789012345678901234567890,"t":1.0e+00,"model":"b"}')
  })

  test('sends a repeated key once, even when spelled with escapes', () => {
    expect(bytes(parse('{"model":"a","x":1,"model":"b","\\u006dodel":"c"}'))).toBe('{"x":1,"\\u006dodel":"c"}')
  })

  test('inherits no keys from prototypes', () => {
    const body = parse('{"__proto__":{"model":"x"}}')
    expect([body.get('model'), body.has('toString'), body.get('constructor')]).toEqual([undefined, false, undefined])
    body.set('__proto__', { a: 1 })
    expect(bytes(body)).toBe('{"__proto__":{"a":1}}')
    expect(({} as { a?: number }).a).toBeUndefined()
  })

  test('is not confused by quotes, brackets and backslashes in strings', () => {
    const text = '{"a":"\\\\","b":"}]\\"{[","c":{"d":"\\\\\\"}"},"model":"m"}'
    const body = parse(text)
    body.set('model', 'n')
    expect(bytes(body)).toBe(text.replace('"m"', '"n"'))
  })

  test('can be forked and modified separately', () => {
    const first = parse('{"model":"a"}')
    first.set('model', 'b')
    const second = first.fork()
    second.set('n', 1)
    expect([bytes(first), bytes(second)]).toEqual(['{"model":"b"}', '{"model":"a","n":1}'])
  })
})

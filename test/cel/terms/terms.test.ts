import { describe, expect, test } from 'vitest'
import { createTermReader } from '../../../src/cel/terms/term-reader.ts'
import { comparisonsOf, neededBy, type Term, termsWithin } from '../../../src/cel/terms/terms.ts'

const termOf = createTermReader()
const read = (text: string): Term => {
  const term = termOf(text)
  if (!term) throw new Error(text)
  return term
}

describe('comparisons in an expression', () => {
  test.each([
    ['request.method == "GET"', 'request.method == GET'],
    ['"GET" == request.method', 'request.method == GET'],
    ['(request["method"]) != ("GET")', 'request.method != GET'],
    ['200 < response.code', 'response.code > 200'],
    ['response.code >= -1', 'response.code >= -1'],
    ['request.method in ["GET", "PUT"]', 'request.method in GET, request.method in PUT'],
    ['request.path.startsWith("/a")', 'request.path startsWith /a'],
    ['!(a && request.headers["x-b"] == "1")', 'request.headers.x-b == 1'],
    ['[1].exists(request, request.method == "GET")', ''],
    ['request.method == jwt.sub', ''],
    ['request.?method == "GET"', ''],
  ])('%s', (text, wanted) => {
    const found = [...termsWithin(read(text))].flatMap(comparisonsOf)
    expect(found.map(({ path, op, literal }) => `${path.join('.')} ${op} ${literal.value}`).join(', ')).toBe(wanted)
  })

  test('keep the position of their literal, even after syntax the parser does not read', () => {
    const text = 'b"é" == b"é" && .5 < 1.0 && "get" == request.method'
    const [compared] = [...termsWithin(read(text))].flatMap(comparisonsOf).filter(each => each.path[0] === 'request')
    expect(text.slice(...compared!.literal.span)).toBe('"get"')
  })
})

describe('fields an expression requires', () => {
  test.each([
    ['jwt.sub == "a" && apiKey.name == "b"', 'jwt.sub apiKey.name'],
    ['jwt.sub == "a" || apiKey.name == "b"', ''],
    ['jwt.sub == "a" || jwt.sub == "b"', 'jwt.sub'],
    ['!(jwt.sub == "a" || apiKey.name == "b")', 'jwt.sub apiKey.name'],
    ['!(jwt.sub == "a" && apiKey.name == "b")', ''],
    ['has(jwt.sub) && jwt.sub == "a"', ''],
    ['!has(jwt.sub)', ''],
    ['default(jwt.sub, "") == "a"', ''],
    ['jwt.?sub.orValue("") == "a"', ''],
    ['"a" in jwt.groups', 'jwt.groups'],
    ['request.path == "/" ? jwt.sub == "a" : true', ''],
    ['jwt.groups.exists(jwt, jwt == "a")', 'jwt.groups'],
  ])('%s', (text, wanted) => {
    expect(neededBy(read(text)).map(path => path.join('.'))).toEqual(wanted === '' ? [] : wanted.split(' '))
  })
})

test('an invalid expression has no term', () => {
  expect(termOf('a &&')).toBeUndefined()
  expect(termOf('!'.repeat(100_000))).toBeUndefined()
})

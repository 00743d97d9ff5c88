import { isDeepStrictEqual } from 'node:util'
import { type CelInput, celEnv, isCelError, isCelList, isCelMap, isCelUint, parse, plan } from '@bufbuild/cel'
import { strings } from '@bufbuild/cel/ext'
import { describe, expect, it } from 'vitest'
import { createCelCompiler } from '../../src/cel/compiler.ts'
import { exchange } from './exchange-fixture.ts'

/**
 * A second implementation of CEL answers the same random expressions; both must agree on value or failure. It counts
 * characters beyond the basic plane as two, and does not replace the empty text everywhere, so neither occurs here.
 */
const DATA = {
  n: 7,
  zero: 0,
  negative: -3,
  big: 9007199254740991,
  half: 0.5,
  s: 'hello',
  empty: '',
  accents: 'aßéñ',
  yes: true,
  no: false,
  nothing: null,
  ints: [1, 2, 3, 2],
  none: [],
  words: ['x', 'hello', ''],
  map: { a: 1, b: { c: 'deep' } },
}

type Kind = 'int' | 'bool' | 'string' | 'double' | 'ints' | 'strings'

class Generator {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  next(kind: Kind, depth: number): string {
    const pieces = depth <= 0 ? this.#leaf(kind) : this.#compound(kind, depth - 1)
    return this.#pick(pieces)()
  }

  #pick<T>(from: readonly T[]): T {
    this.#state = (this.#state * 1664525 + 1013904223) >>> 0
    return from[Math.floor((this.#state / 2 ** 32) * from.length)] as T
  }

  #leaf(kind: Kind): (() => string)[] {
    const text = (...all: string[]) => all.map(each => () => each)
    switch (kind) {
      case 'int':
        return text(
          '0',
          '1',
          '-2',
          '42',
          '9223372036854775807',
          'jwt.n',
          'jwt.zero',
          'jwt.negative',
          'jwt.map.a',
          'jwt.absent',
        )
      case 'double':
        return text('0.5', '-1.25', '2.0', 'jwt.half', '1e3')
      case 'bool':
        return text('true', 'false', 'jwt.yes', 'jwt.no', 'jwt.absent', 'has(jwt.map.a)', 'has(jwt.map.z)')
      case 'string':
        return text('"a"', '"hello"', '""', '"éü"', 'jwt.s', 'jwt.empty', 'jwt.accents', 'jwt.map.b.c', 'jwt.absent')
      case 'ints':
        return text('[1, 2, 3]', '[5]', 'jwt.ints', 'jwt.none')
      case 'strings':
        return text('["a", "b"]', 'jwt.words')
    }
  }

  #compound(kind: Kind, d: number): (() => string)[] {
    const g = (of: Kind) => this.next(of, d)
    const either = () => `(${g('bool')} ? ${g(kind)} : ${g(kind)})`
    const operator =
      (of: Kind, ...all: string[]) =>
      () =>
        `(${g(of)} ${this.#pick(all)} ${g(of)})`
    switch (kind) {
      case 'int':
        return [
          ...this.#leaf('int'),
          either,
          operator('int', '+', '-', '*', '/', '%'),
          () => `-(${g('int')})`,
          () => `size(${g('string')})`,
          () => `size(${g('ints')})`,
          () => `${g('ints')}[${g('int')}]`,
          () => `${g('string')}.indexOf(${g('string')})`,
          () => `int(${g('double')})`,
          () => `int(string(${g('int')}))`,
        ]
      case 'double':
        return [...this.#leaf('double'), either, operator('double', '+', '-', '*', '/'), () => `double(${g('int')})`]
      case 'bool':
        return [
          either,
          operator('int', '<', '<=', '>', '>=', '==', '!='),
          operator('double', '<', '>='),
          operator('string', '<', '==', '!='),
          operator('ints', '==', '!='),
          operator('bool', '&&', '||', '==', '!='),
          () => `!${g('bool')}`,
          () => `(${g('int')} in ${g('ints')})`,
          () => `(${g('string')} in ${g('strings')})`,
          () => `(${g('string')} in jwt.map)`,
          () => `${g('ints')}.exists(e, e > ${g('int')})`,
          () => `${g('ints')}.all(e, e != ${g('int')} || ${g('bool')})`,
          () => `${g('ints')}.exists_one(e, e == ${g('int')})`,
          () => `${g('string')}.startsWith(${g('string')})`,
          () => `${g('string')}.contains(${g('string')})`,
          () => `${g('string')}.matches(${this.#pick(['"^h.*o$"', '"[aeiou]+"', '"\\\\pL"', '"(a|é)"'])})`,
          () => `(jwt.nothing == null)`,
          () => `(type(${g('int')}) == int)`,
        ]
      case 'string':
        return [
          ...this.#leaf('string'),
          either,
          operator('string', '+'),
          () => `string(${g('int')})`,
          () => `string(${g('bool')})`,
          () => `${g('string')}.charAt(${g('int')})`,
          () => `${g('string')}.substring(${this.#pick(['0', '1', '2'])})`,
          () => `${g('string')}.replace(${this.#pick(['"a"', '"l"', '"he"'])}, ${g('string')})`,
          () => `${g('string')}.lowerAscii()`,
          () => `${g('string')}.upperAscii()`,
          () => `${g('string')}.trim()`,
          () => `${g('strings')}.join(${g('string')})`,
        ]
      case 'ints':
        return [
          ...this.#leaf('ints'),
          either,
          operator('ints', '+'),
          () => `${g('ints')}.map(e, e + ${g('int')})`,
          () => `${g('ints')}.filter(e, e > ${g('int')})`,
          () => `${g('ints')}.filter(e, e in ${g('ints')}).map(f, f * 2)`,
          () => `[${g('int')}, ${g('int')}]`,
        ]
      case 'strings':
        return [
          ...this.#leaf('strings'),
          operator('strings', '+'),
          () => `${g('string')}.split(${g('string')})`,
          () => `${g('strings')}.map(w, w + ${g('string')})`,
          () => `${g('strings')}.filter(w, w != ${g('string')})`,
        ]
    }
  }
}

function input(value: unknown): CelInput {
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value)
  if (Array.isArray(value)) return value.map(input)
  if (typeof value === 'object' && value !== null) {
    return new Map(Object.entries(value).map(([key, item]) => [key, input(item)]))
  }
  return value as CelInput
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  if (isCelUint(value)) return plain(value.value)
  if (isCelList(value)) return [...value].map(plain)
  if (isCelMap(value)) return Object.fromEntries([...value].map(([key, item]) => [String(key), plain(item)]))
  return value
}

const FAILED = Symbol('failed')
const environment = celEnv({ funcs: strings })
const bindings = { jwt: input(DATA) }

function theirs(text: string): unknown {
  let result: unknown
  try {
    result = plan(environment, parse(text))(bindings)
  } catch {
    return FAILED
  }
  return isCelError(result) ? FAILED : plain(result)
}

const compiler = createCelCompiler()
const x = exchange()
x.auth.jwt = DATA
delete x.auth.rawToken

function ours(text: string): unknown {
  const expression = compiler.compile(text, 'request', 'any')
  if ('problem' in expression) throw new Error(`${text}: ${expression.problem.message}`)
  const outcome = expression.evaluate(x)
  return outcome.ok ? outcome.value : FAILED
}

describe('compared with a second implementation', () => {
  it.each<[Kind, number]>([
    ['int', 1],
    ['bool', 2],
    ['string', 3],
    ['double', 4],
    ['ints', 5],
    ['strings', 6],
  ])('gives equal results for random expressions of kind %s', (kind, seed) => {
    const generator = new Generator(seed)
    const differences: unknown[] = []
    let succeeded = 0
    for (let i = 0; i < 1200; i++) {
      const text = generator.next(kind, 1 + (i % 4))
      if (text.length > 1500) continue
      const [a, b] = [ours(text), theirs(text)]
      if (a !== FAILED) succeeded++
      if (!isDeepStrictEqual(a, b)) differences.push({ text, ours: a, theirs: b })
    }
    expect(differences.slice(0, 5)).toEqual([])
    expect(succeeded).toBeGreaterThan(200)
  })
})

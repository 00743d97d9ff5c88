import { expect, test } from 'vitest'
import { GatewayError } from '../../src/http/errors.ts'
import { type BodySource, Exchange } from '../../src/http/exchange.ts'
import { buffer } from '../../src/policies/buffer.ts'
import { compile, exchange, hooksOf, run } from './policy-fixture.ts'

/** A body that is still coming: `length` is what `content-length` said. */
function coming(size: number, length: number | undefined, headers: readonly string[] = []) {
  const asked: number[] = []
  let bytes: Buffer | undefined
  const body: BodySource = {
    length,
    get bytes() {
      return bytes
    },
    async buffer(limit) {
      asked.push(limit)
      if (size > limit) throw new GatewayError('bodyTooLarge')
      bytes = Buffer.alloc(size)
      return bytes
    },
    prefix: () => Promise.reject(new Error('nobody asks')),
    replace: next => {
      bytes = next
    },
    take: () => bytes,
  }
  const { id, connection, startedAt, startedMono, httpVersion, request } = exchange({ method: 'POST', headers })
  return { x: new Exchange({ id, connection, startedAt, startedMono, httpVersion, request, body }), asked }
}

test.each([
  [{ maxBytes: 10 }, 10, undefined, 'passed', [10]],
  [{ maxBytes: 10 }, 11, undefined, '413: request body too large', [10]],
  [{ maxBytes: '1Ki' }, 1024, 1024, 'passed', [1024]],
  [{}, 5, 5, 'passed', [2 * 1024 * 1024]],
  [{}, 0, 0, 'passed', []],
  [{ maxBytes: 10, failureMode: 'FailOpen' }, 11, undefined, 'passed', [10]],
  [{ maxBytes: 10, failureMode: 'failOpen' }, 10, 10, 'passed', [10]],
])('request %j with %i bytes (content-length %s): %s', async (spec, size, length, expected, limits) => {
  const { x, asked } = coming(size, length)
  expect(await run(hooksOf(buffer, { request: spec }), x)).toBe(expected)
  expect(asked).toEqual(limits)
})

test('the limit also applies to a body already in memory', async () => {
  const x = exchange({ method: 'POST', body: 'x'.repeat(11) })
  expect(await run(hooksOf(buffer, { request: { maxBytes: 10 } }), x)).toBe('413: request body too large')
})

test('upgrades are not buffered', async () => {
  const { x, asked } = coming(99, undefined, ['upgrade', 'websocket'])
  expect(await run(hooksOf(buffer, { request: { maxBytes: 10 } }), x)).toBe('passed')
  expect(asked).toEqual([])
})

test('a client disconnect is not mistaken for an oversized body', async () => {
  const { x } = coming(5, undefined)
  x.body.buffer = async () => {
    throw new GatewayError('bodyUnreadable')
  }
  expect(await run(hooksOf(buffer, { request: { failureMode: 'failOpen' } }), x)).toBe('503: parsing body')
})

test.each([
  [{ request: { maxBytes: '10 MB' } }, 'GW106 request.maxBytes'],
  [{ request: { failureMode: 'open' } }, 'GW104 request.failureMode'],
])('%j is rejected', (bad, finding) => {
  expect(compile(buffer, bad).findings).toEqual([expect.stringContaining(finding)])
})

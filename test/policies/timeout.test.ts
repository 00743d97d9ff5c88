import { expect, test } from 'vitest'
import { timeout } from '../../src/policies/timeout.ts'
import { compile, hooksOf } from './policy-fixture.ts'

test.each<[object, object]>([
  [
    { requestTimeout: '1m30s', backendRequestTimeout: '250ms' },
    { request: 90_000, backend: 250 },
  ],
  [{ requestTimeout: '1s' }, { request: 1000 }],
  [{ requestTimeout: '0s' }, {}],
  [{}, {}],
])('%j', (spec, expected) => {
  expect(hooksOf(timeout, spec)).toEqual({ timeout: expected })
})

test.each([['10'], [10], ['-1s'], ['1 s'], ['1d']])('%j is not a duration', value => {
  expect(compile(timeout, { requestTimeout: value }).findings).toEqual([expect.stringMatching(/^GW106 requestTimeout/)])
})

import { describe, expect, test } from 'vitest'
import { authorization, type Signable, signingFields } from '../../../src/auth/cloud/aws-sigv4.ts'

// The documented example keys and requests of Signature Version 4.
const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const now = Date.UTC(2015, 7, 30, 12, 36, 0)

const sign = (request: Partial<Signable>, { service = 'service', fields = ['host', 'example.amazonaws.com'] } = {}) =>
  authorization(
    {
      method: 'GET',
      path: '/',
      body: Buffer.alloc(0),
      ...request,
      fields: [...fields, ...(request.fields ?? []), ...signingFields(keys, now)],
    },
    keys,
    { region: 'us-east-1', service, now },
  )
const signatureOf = (text: string) => /Signature=(.*)$/.exec(text)?.[1]

describe('matches the published signature', () => {
  test('for a plain request, including the whole header', () => {
    expect(sign({})).toBe(
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
    )
  })

  test('for a query in any order', () => {
    const expected = 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500'
    expect(signatureOf(sign({ path: '/?Param2=value2&Param1=value1' }))).toBe(expected)
    expect(signatureOf(sign({ path: '/?Param1=value1&Param2=value2' }))).toBe(expected)
  })

  test('for a request without a body', () => {
    expect(signatureOf(sign({ method: 'POST' }))).toBe(
      '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
    )
  })

  test('for a form', () => {
    const fields = ['content-type', 'application/x-www-form-urlencoded']
    const form = sign({ method: 'POST', fields, body: Buffer.from('Param1=value1') })
    expect(signatureOf(form)).toBe('ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a')
  })

  test('for a service call', () => {
    const fields = ['content-type', 'application/x-www-form-urlencoded; charset=utf-8']
    const call = sign(
      { path: '/?Action=ListUsers&Version=2010-05-08', fields },
      { service: 'iam', fields: ['host', 'iam.amazonaws.com'] },
    )
    expect(signatureOf(call)).toBe('5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7')
  })

  test('for paths with dots and slashes, which normalize to the plain path', () => {
    const plain = '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'
    for (const path of ['//', '/./', '/foo/..', '/foo/bar/../..']) expect(signatureOf(sign({ path }))).toBe(plain)
  })
})

test('signs the session token', () => {
  const fields = signingFields({ ...keys, sessionToken: 'token' }, now)
  expect(fields).toEqual(['x-amz-date', '20150830T123600Z', 'x-amz-security-token', 'token'])
  expect(sign({ fields: ['x-amz-security-token', 'token'] })).toContain('host;x-amz-date;x-amz-security-token')
})

test.each([
  ['a repeated field is joined into one list', ['x-a', '1', 'X-A', '2'], ['x-a', '1,2']],
  ['leading, trailing and repeated spaces are ignored', ['x-a', '  a   b '], ['x-a', 'a b']],
])('%s', (_name, one, other) => {
  expect(sign({ fields: one })).toBe(sign({ fields: other }))
})

test.each([
  ['/a b', '/a%20b'],
  ['/?a=%zz', '/?a=%25zz'],
])('%s and %s are both signed without throwing', (one, other) => {
  expect(signatureOf(sign({ path: one }))).toMatch(/^[0-9a-f]{64}$/)
  expect(signatureOf(sign({ path: other }))).toMatch(/^[0-9a-f]{64}$/)
})

import { expect, test } from 'vitest'
import type { AnyPolicy } from '../../src/policies/fields.ts'
import { frontendPolicies, responseOrder, targetPolicyFields, trafficPolicies } from '../../src/policies/index.ts'

const all: readonly AnyPolicy[] = trafficPolicies
const names = all.map(policy => policy.name)

test('policy names are unique', () => {
  expect(new Set(names).size).toBe(names.length)
  expect(new Set(frontendPolicies.map(policy => policy.name)).size).toBe(frontendPolicies.length)
})

test.each([
  ['cors', 'jwtAuth', 'a preflight carries no token'],
  ['cors', 'localRateLimit', 'a preflight takes no token out of a bucket'],
  ['oidc', 'jwtAuth', 'sign-in comes before tokens'],
  ['jwtAuth', 'extAuthz', 'the service sees claims'],
  ['extAuthz', 'authorization', 'rules see what the service said'],
  ['authorization', 'localRateLimit', 'who is refused takes no budget'],
  ['localRateLimit', 'remoteRateLimit', 'the cheap limit is first'],
  ['transformations', 'requestHeaderModifier', 'fixed values win'],
  ['urlRewrite', 'requestRedirect', 'the location is made from the rewritten request'],
  ['delay', 'directResponse', 'a delayed answer is delayed'],
  ['requestHeaderModifier', 'backendAuth', 'nothing touches the credential after it is written'],
])('%s comes before %s: %s', (first, second) => {
  expect(names.indexOf(first)).toBeGreaterThanOrEqual(0)
  expect(names.indexOf(first)).toBeLessThan(names.indexOf(second))
})

test('the response order lists only existing policies', () => {
  expect(responseOrder.filter(name => !names.includes(name))).toEqual([])
})

test('target fields match the policies that declare them', () => {
  const declared = all.filter(policy => policy.attach.includes('target')).map(policy => policy.name)
  expect(Object.keys(targetPolicyFields).sort()).toEqual(declared.sort())
})

import { expect, test } from 'vitest'
import { networkAuthorization } from '../../../src/policies/frontend/network-authorization.ts'
import { compile, hooksOf } from '../policy-fixture.ts'

const from = (rules: unknown[], address: string) =>
  hooksOf(networkAuthorization, { rules }).connection?.({ id: 1, address, port: 5000, localPort: 8080 })

const INSIDE = 'cidr("10.0.0.0/8").containsIP(source.address)'

test.each<[unknown[], string, boolean]>([
  [[], '192.0.2.1', true],
  [[INSIDE], '10.1.2.3', true],
  [[INSIDE], '192.0.2.1', false],
  [[{ allow: INSIDE }], '10.1.2.3', true],
  [[{ deny: INSIDE }], '10.1.2.3', false],
  [[{ deny: INSIDE }], '192.0.2.1', true],
  [[{ require: INSIDE }], '10.1.2.3', true],
  [[{ require: INSIDE }], '192.0.2.1', false],
  [[INSIDE, { deny: 'source.address == "10.1.2.3"' }], '10.1.2.3', false],
  [[INSIDE, 'source.address == "192.0.2.1"'], '192.0.2.1', true],
  [[{ deny: INSIDE }], 'not an address', false],
  [[{ require: INSIDE }], 'not an address', false],
])('%j allows %s to connect: %j', (rules, address, expected) => expect(from(rules, address)).toBe(expected))

test.each([
  [{ rules: ['request.path == "/"'] }, 'GW302 rules.0'],
  [{ rules: [{ allow: 'true', deny: 'true' }] }, 'GW108 rules.0.deny'],
  [{ rules: 'true' }, 'GW101 rules'],
  [{}, 'GW103 rules'],
])('%j', (spec, finding) => {
  expect(compile(networkAuthorization, spec).findings).toEqual([expect.stringContaining(finding)])
})

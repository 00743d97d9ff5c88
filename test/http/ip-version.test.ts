import { isIP } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ipVersion } from '../../src/http/ip-version.ts'

test.each([
  '',
  '127.0.0.1',
  '0.0.0.0',
  '256.0.0.1',
  '01.2.3.4',
  '1.2.3',
  '1.2.3.4.',
  '1.2.3.4.5',
  '::',
  '::1',
  '1::2::3',
  '1:2:3:4:5:6:7::',
  '1:2:3:4:5:6:7:8',
  '1:2:3:4:5:6:7:8:9',
  '::ffff:1.2.3.4',
  '::ffff:1.2.3.04',
  '::ffff:256.2.3.4',
  '1.2.3.4::',
  '::1.2.3.4:5',
  '::12345',
  '::00001',
  'fe80::1%eth0',
  'fe80::1%',
  'fe80::1%a%b',
  '127.0.0.1%lo',
  '::1 ',
  '[::1]',
  '::1\n',
  '127.0.0.1\n',
  'localhost',
])('agrees with net.isIP on %j', text => {
  expect(ipVersion(text)).toBe(isIP(text))
})

test('agrees with net.isIP on any text', () => {
  const piece = fc.constantFrom('0', '1', '01', 'ff', 'ABCD', '12345', '255', '256', ':', '::', '.', '%', 'g')
  const text = fc.array(piece, { maxLength: 20 }).map(pieces => pieces.join(''))
  const groups = fc.array(fc.constantFrom('0', 'f', '1.2.3.4', '', 'ffff'), { maxLength: 10 }).map(all => all.join(':'))
  fc.assert(
    fc.property(fc.oneof(text, groups, fc.ipV4(), fc.ipV6()), some => {
      expect(ipVersion(some)).toBe(isIP(some))
    }),
    { numRuns: 2000 },
  )
})

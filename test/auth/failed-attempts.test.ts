import { describe, expect, test } from 'vitest'
import { FailedAttempts } from '../../src/auth/failed-attempts.ts'
import { PasswordVerifier, parsePasswordFile } from '../../src/auth/htpasswd.ts'
import { ManualClock } from '../engine/manual-clock.ts'

const fail = (attempts: FailedAttempts, times: number, address: string, user?: string) => {
  for (let i = 0; i < times; i++) attempts.begin(address, user).settle(false)
}
const TOO_MANY = 'too many wrong passwords'

describe('failed password attempts', () => {
  test('from one address are limited to 60 before a one-minute block', () => {
    const clock = new ManualClock()
    const attempts = new FailedAttempts(clock)
    fail(attempts, 60, '192.0.2.1')
    expect(() => attempts.begin('192.0.2.1', 'alice')).toThrow(TOO_MANY)
    attempts.begin('192.0.2.2', 'alice').settle(true)
    clock.advance(60_000)
    attempts.begin('192.0.2.1', 'alice').settle(true)
  })

  test('from the same IPv6 network count together', () => {
    const attempts = new FailedAttempts(new ManualClock())
    fail(attempts, 30, '2001:db8::1')
    fail(attempts, 30, '2001:db8:0:0:ffff::2')
    expect(() => attempts.begin('2001:db8::3', undefined)).toThrow(TOO_MANY)
    attempts.begin('2001:db8:0:1::1', undefined).settle(true)
  })

  test('for one user are limited to 300 across all addresses', () => {
    const attempts = new FailedAttempts(new ManualClock())
    for (let i = 0; i < 300; i++) fail(attempts, 1, `192.0.2.${i % 250}`, 'alice')
    expect(() => attempts.begin('198.51.100.1', 'alice')).toThrow(TOO_MANY)
    attempts.begin('198.51.100.1', 'bob').settle(true)
  })

  test('do not include correct passwords', () => {
    const attempts = new FailedAttempts(new ManualClock())
    for (let i = 0; i < 1000; i++) attempts.begin('192.0.2.1', 'alice').settle(true)
  })

  test('of one client are limited to 32 concurrent checks', () => {
    const attempts = new FailedAttempts(new ManualClock())
    for (let i = 0; i < 32; i++) attempts.begin('192.0.2.1', undefined)
    expect(() => attempts.begin('192.0.2.1', undefined)).toThrow(TOO_MANY)
    attempts.begin('192.0.2.2', undefined)
  })

  test('do not lock out a client whose password was accepted before', async () => {
    const attempts = new FailedAttempts(new ManualClock())
    const { users } = parsePasswordFile('sha1:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=')
    const verifier = new PasswordVerifier(users, { attempts })
    expect(await verifier.verify('sha1', 'password', '192.0.2.1')).toBe(true)
    for (let i = 0; i < 60; i++) expect(await verifier.verify('sha1', `wrong ${i}`, '192.0.2.1')).toBe(false)
    await expect(verifier.verify('sha1', 'wrong', '192.0.2.1')).rejects.toThrow(TOO_MANY)
    expect(verifier.verify('sha1', 'password', '192.0.2.1')).toBe(true)
  })
})
